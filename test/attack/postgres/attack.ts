import { messageOf } from '../../../src/runtime/message.ts';
import { type Attack, endOfRounds, playInLanes, Tally } from '../support/attack.ts';
import { playPostgres } from './play-postgres.ts';

const LANES = 2;
/** One game in so many has a disk that gets full. */
const DISK_EVERY = 4;

export const postgresAttack: Attack = {
  name: 'postgres',
  what: 'Postgres killed and started again, its connections ended, its statements slow and stuck, its disk full',
  async run(options) {
    const tally = new Tally(options);
    const until = endOfRounds(options.size);
    let begun = 0;
    let noDisk: string | undefined;
    const { games } = options.size;
    const wanted = (): boolean =>
      !options.signal.aborted &&
      (games > 0 ? begun < games : begun < DISK_EVERY || performance.now() < until);
    await playInLanes(Math.min(LANES, options.parallel), wanted, async (index) => {
      begun += 1;
      const seed = options.seed + index;
      const disk = noDisk === undefined && seed % DISK_EVERY === 0;
      await tally.play(seed, async () => {
        try {
          return await playPostgres(seed, disk);
        } catch (error) {
          // Where no such disk can be made that part can't be played: it is told, and is no pass.
          if (!disk || !messageOf(error).startsWith('a disk that is full:')) throw error;
          noDisk = messageOf(error);
          return playPostgres(seed, false);
        }
      });
    });
    if (noDisk !== undefined) tally.notPlayed.push(noDisk);
    return tally.report();
  },
};
