import { messageOf } from '@research-mirror/runtime/message';
import type { Attack } from '../support/attack.ts';
import { playGames, whileRoundsLast } from '../support/play-games.ts';
import { playPostgres } from './play-postgres.ts';

const LANES = 2;
/** One game in so many has a disk that gets full. */
const DISK_EVERY = 4;

export const postgresAttack: Attack = {
  name: 'postgres',
  what: 'Postgres killed and started again, its connections ended, its statements slow and stuck, its disk full',
  async run(options) {
    let noDisk: string | undefined;
    const report = await playGames(options, {
      lanes: LANES,
      more: whileRoundsLast(options.size, DISK_EVERY),
      play: async (seed) => {
        const disk = noDisk === undefined && seed % DISK_EVERY === 0;
        try {
          return await playPostgres(seed, disk);
        } catch (error) {
          // Where no such disk can be made that part can't be played: it is told, and is no pass.
          if (!disk || !messageOf(error).startsWith('a disk that is full:')) throw error;
          noDisk = messageOf(error);
          return playPostgres(seed, false);
        }
      },
    });
    return noDisk === undefined ? report : { ...report, notPlayed: [...report.notPlayed, noDisk] };
  },
};
