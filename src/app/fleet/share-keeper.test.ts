import { afterEach, describe, expect, it } from 'vitest';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import type { FleetStore, SeenFleet } from '../../db/ownership/fleet-store.ts';
import type { LivingProcess } from '../../db/ownership/lease.ts';
import type { Service } from '@research-mirror/runtime/service';
import { type Share, type SharedAccount, shareKeeper } from './share-keeper.ts';

/** A daemon with its accounts, and what Postgres would answer it. */
class Scene {
  readonly clock = new VirtualClock();
  readonly bell = new Doorbell();
  readonly standing = new Map<string, ReturnType<SharedAccount['standing']>>();
  readonly owners = new Map<string, string | null>();
  readonly living = new Map<string, LivingProcess>();
  readonly retired = new Set<string>();
  readonly done: string[] = [];
  readonly shares: Share[] = [];
  others = false;
  expiresInMs = Infinity;
  fails: Error | undefined;
  interruptedAt = -Infinity;
  /** Called behind what the look sees. */
  duringLook: () => void = () => {};
  readonly keeper: Service;

  constructor(accounts: readonly string[]) {
    for (const userId of accounts) {
      this.standing.set(userId, 'waits');
      this.owners.set(userId, null);
    }
    this.keeper = shareKeeper({
      store: this.#store(),
      self: 'self',
      accounts: () => accounts.map((userId) => this.#account(userId)),
      hasOthers: () => this.others,
      interruptedAt: () => this.interruptedAt,
      bell: this.bell,
      clock: this.clock,
      onUnavailable: (userId, holder) =>
        this.done.push(`${userId} is held: ${holder === 'retired' ? holder : holder.processId}`),
      onShare: (share) => this.shares.push(share),
      onFailure: (error) => this.done.push(`failed: ${(error as Error).message}`),
    });
  }

  lives(processId: string, serves: readonly string[] | undefined): void {
    this.living.set(processId, {
      processId,
      command: 'start',
      pid: 1,
      here: false,
      aliveUntil: new Date(0),
      serves: serves && new Set(serves),
      leftMs: 12_000,
      prompt: true,
    });
  }

  /** What was done since the last call. */
  news(): string[] {
    return this.done.splice(0);
  }

  async start(): Promise<void> {
    await this.keeper.start();
    await this.clock.advance(0);
  }

  #account(userId: string): SharedAccount {
    return {
      userId,
      standing: () => this.standing.get(userId) ?? 'unable',
      take: () => {
        this.done.push(`take ${userId}`);
        this.standing.set(userId, 'works');
        this.owners.set(userId, 'self');
      },
      giveUp: () => {
        this.done.push(`give up ${userId}`);
        this.standing.set(userId, 'busy');
      },
    };
  }

  #store(): FleetStore {
    const note = (what: string): Promise<void> => {
      this.done.push(what);
      return this.fails === undefined ? Promise.resolve() : Promise.reject(this.fails);
    };
    return {
      offer: (serves) => note(`offer ${serves.join(' ')}`),
      withdraw: () => note('withdraw'),
      wakeOthers: () => note('wake others'),
      look: async (): Promise<SeenFleet> => {
        await note('look');
        const seen = {
          living: this.living,
          accounts: [...this.owners]
            .filter(([userId]) => !this.retired.has(userId))
            .map(([userId, owner]) => ({ userId, owner })),
          retired: this.retired,
          expiresInMs: this.expiresInMs,
        };
        this.duringLook();
        return seen;
      },
    };
  }
}

let scene: Scene;
afterEach(() => scene.keeper.stop());

describe('a daemon that is alone', () => {
  it('takes all its accounts, and asks nothing after that, whoever rings', async () => {
    scene = new Scene(['a', 'b']);
    await scene.start();
    expect(scene.news()).toEqual(['offer a b', 'look', 'take a', 'take b']);
    await scene.clock.advance(60_000);
    scene.bell.ring();
    await scene.clock.advance(60_000);
    expect(scene.news()).toEqual([]);
  });

  it('waits for an account that a command has, and says so once', async () => {
    scene = new Scene(['a']);
    scene.lives('sync', undefined);
    scene.owners.set('a', 'sync');
    await scene.start();
    await scene.clock.advance(4_500);
    expect(scene.news()).toEqual(['offer a', 'look', 'look', 'a is held: sync', 'look']);
    scene.owners.set('a', null);
    scene.bell.ring();
    await scene.clock.advance(0);
    expect(scene.news()).toEqual(['look', 'take a']);
  });

  it('takes no retired account until it is none any more', async () => {
    scene = new Scene(['a']);
    scene.retired.add('a');
    await scene.start();
    await scene.clock.advance(29_000);
    expect(scene.news()).toEqual(['offer a', 'look', 'a is held: retired']);
    await scene.clock.advance(60_000);
    expect(scene.news()).toEqual(['look', 'look']);
    scene.retired.delete('a');
    await scene.clock.advance(34_000);
    expect(scene.news()).toEqual(['look', 'take a']);
  });

  it('leaves what it can’t serve to others, and offers it again later', async () => {
    scene = new Scene(['a', 'b']);
    scene.standing.set('b', 'unable');
    await scene.start();
    expect(scene.news()).toEqual(['offer a', 'look', 'take a']);
    scene.standing.set('b', 'waits');
    scene.bell.ring();
    await scene.clock.advance(4_000);
    expect(scene.news()).toEqual(['offer a b', 'look', 'take b']);
  });

  it('tries again where the database does not answer', async () => {
    scene = new Scene(['a']);
    scene.fails = new Error('away');
    await scene.start();
    await scene.clock.advance(3_000);
    expect(new Set(scene.news())).toEqual(new Set(['offer a', 'failed: away']));
    scene.fails = undefined;
    await scene.clock.advance(2_000);
    expect(scene.news().slice(0, 3)).toEqual(['offer a', 'look', 'take a']);
  });
});

describe('a daemon beside another one', () => {
  const accounts = Array.from({ length: 40 }, (_, index) => `a${String(index).padStart(2, '0')}`);

  it('gives up some accounts at a time when the other one has come', async () => {
    scene = new Scene(accounts);
    await scene.start();
    scene.news();
    scene.lives('other', accounts);
    scene.others = true;
    await scene.clock.advance(4_000);
    const given = scene.news().filter((each) => each.startsWith('give up'));
    expect(given).toHaveLength(16);
    for (const each of given) scene.owners.set(each.slice('give up '.length), 'other');
    await scene.clock.advance(1_200);
    expect(scene.news().filter((each) => each.startsWith('give up'))).toHaveLength(4);
    expect(scene.shares.at(-1)).toEqual({ own: 20, of: 40, daemons: 2 });
  });

  it('looks each four seconds once each has its share', async () => {
    scene = new Scene(['a', 'b']);
    scene.others = true;
    scene.lives('other', ['c', 'd']);
    scene.owners.set('c', 'other').set('d', 'other');
    await scene.start();
    await scene.clock.advance(5_000);
    scene.news();
    await scene.clock.advance(60_000);
    expect(scene.news()).toEqual(Array.from({ length: 15 }, () => 'look'));
  });

  it('offers its accounts again where the database has another list of them', async () => {
    scene = new Scene(['a', 'b']);
    scene.others = true;
    scene.lives('self', ['b', 'a']);
    await scene.start();
    await scene.clock.advance(20_000);
    expect(scene.news().filter((each) => each.startsWith('offer'))).toEqual(['offer a b']);
    for (const list of [['a'], undefined, []]) {
      scene.lives('self', list);
      await scene.clock.advance(5_000);
      scene.lives('self', ['a', 'b']);
      await scene.clock.advance(5_000);
      expect(scene.news()).toContain('offer a b');
    }
  });

  it('looks again in the moment in which another one’s heartbeat runs out', async () => {
    scene = new Scene(['a']);
    scene.others = true;
    scene.lives('other', ['a']);
    scene.owners.set('a', 'other');
    scene.expiresInMs = 1_500;
    await scene.start();
    expect(scene.news()).toEqual(['offer a', 'look', 'wake others']);
    scene.living.delete('other');
    await scene.clock.advance(1_499);
    expect(scene.news()).toEqual([]);
    await scene.clock.advance(121);
    expect(scene.news()).toEqual(['look', 'take a']);
  });

  it('looks again soon while nobody has what it left to another one, which may leave it to this one', async () => {
    scene = new Scene(['a', 'b']);
    scene.others = true;
    scene.owners.set('b', 'other').set('c', 'other').set('d', 'other');
    scene.lives('other', ['b', 'c', 'd']);
    await scene.start();
    expect(scene.news()).toContain('take a');
    scene.lives('third', ['b']);
    scene.owners.set('b', null);
    scene.bell.ring();
    await scene.clock.advance(0);
    await scene.clock.advance(100);
    scene.news();
    // The third looked before, when it had no turn, and ended.
    scene.living.delete('third');
    await scene.clock.advance(600);
    expect(scene.news().filter((each) => each !== 'look')).toEqual(['take b']);
  });

  it('looks once a second at what others leave for longer', async () => {
    scene = new Scene(['a', 'b']);
    scene.others = true;
    scene.lives('other', ['b']);
    await scene.start();
    await scene.clock.advance(10_000);
    scene.news();
    await scene.clock.advance(11_000);
    expect(scene.news()).toEqual(Array.from({ length: 10 }, () => 'look'));
  });

  it('takes anew what it lost while it was asleep, and nobody has', async () => {
    scene = new Scene(['a', 'b']);
    await scene.start();
    scene.others = true;
    scene.lives('other', ['a', 'b', 'c', 'd']);
    scene.owners.set('c', 'other').set('d', 'other');
    await scene.clock.advance(8_000);
    expect(scene.news().filter((each) => each !== 'look')).toEqual(['offer a b', 'take a', 'take b']);
    // Taken from it, and one of them given up again.
    scene.owners.set('a', null);
    scene.owners.set('b', 'other');
    // Its work has ended (owned-accounts.ts).
    scene.standing.set('a', 'waits');
    scene.standing.set('b', 'waits');
    scene.bell.ring();
    await scene.clock.advance(100);
    expect(scene.news()).toEqual(['look', 'take a']);
  });

  it('does not give up what it has just taken, though the look began before', async () => {
    scene = new Scene(['a', 'b']);
    await scene.start();
    scene.others = true;
    scene.lives('other', []);
    scene.standing.set('b', 'waits');
    scene.owners.set('b', null);
    // It was seen as nobody's, and stands as read when the look has its answer.
    scene.duringLook = () => {
      scene.standing.set('b', 'works');
      scene.owners.set('b', 'self');
    };
    scene.news();
    await scene.clock.advance(4_000);
    expect(scene.news()).not.toContain('give up b');
  });

  it.each(['its own heartbeat', 'its look'])(
    'takes nobody for dead just after %s failed: others may have been away as well',
    async (what) => {
      scene = new Scene(['a']);
      scene.others = true;
      scene.owners.set('a', 'other');
      if (what === 'its look') scene.fails = new Error('away');
      else scene.interruptedAt = 0;
      await scene.start();
      scene.fails = undefined;
      await scene.clock.advance(5_900);
      expect(scene.news()).not.toContain('take a');
      await scene.clock.advance(2_000);
      expect(scene.news()).toContain('take a');
    },
  );

  it('takes part no longer once it is stopped, before its accounts are released', async () => {
    scene = new Scene(['a']);
    await scene.start();
    scene.news();
    await scene.keeper.stop();
    expect(scene.news()).toEqual(['withdraw', 'wake others']);
  });
});
