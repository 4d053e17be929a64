import type pg from 'pg';
import { differences } from '../../../support/mirror/mirror-truth.ts';
import type { AnswerLog } from '../source/answer-log.ts';
import { checkDeletions } from './deletions.ts';
import { checkFreshness } from './freshness.ts';
import type { GameRecord } from '../../support/attack.ts';
import type { Game } from '../game/game.ts';
import { checkReplay, checkVersions, type Snapshot, takeSnapshot } from '../source/history.ts';
import type { ListName } from './mirrored.ts';
import type { Source } from '../source/source.ts';
import type { TruthLog } from '../source/truth-log.ts';
import { WatermarkReader } from './watermark.ts';

interface Checked {
  readonly db: pg.Pool;
  readonly game: Game;
  readonly source: Source;
  readonly user: string;
  readonly names: ListName[];
  readonly log: TruthLog;
  readonly record: GameRecord;
}

/** Every check of a game, and what has to be gathered for them while it is played. */
export class Checks {
  readonly follower: WatermarkReader;
  readonly #of: Checked;
  readonly #snapshots: Snapshot[] = [];

  constructor(of: Checked) {
    this.#of = of;
    this.follower = new WatermarkReader(of.db, of.user, of.names, of.game.history);
  }

  /** Notes the mirror as it is: history must be able to tell it later. */
  async snapshot(): Promise<void> {
    const { db, names, user } = this.#of;
    this.#snapshots.push(await takeSnapshot(db, names, user));
  }

  /** What the mirror has otherwise than the source. */
  differences(): Promise<string[]> {
    const { source, user, db } = this.#of;
    return differences({ sandbox: { control: source.control, userId: Number(user) }, db });
  }

  /** @param quiet nothing happens in the source any more: what it answers is true, then, in every game */
  async freshness(quiet: boolean): Promise<void> {
    const { db, game, names, user, log, record } = this.#of;
    const { lagMs, switches, lies } = game;
    if (lies && !quiet) return;
    const moving = switches.order === 'last-updated' || switches.order === 'score';
    const found = await checkFreshness(db, names, user, { log, lagMs, moving });
    for (const { text } of found) record.tell(text);
    record.found(found);
  }

  /** Those of a game that has come to its end. */
  async atEnd(answers: AnswerLog): Promise<void> {
    const { db, game, names, user, log, record } = this.#of;
    const { lagMs, gracePeriodMs, history, switches } = game;
    const { findings, deletions, beyondP2, toldEmpty } = await checkDeletions(db, names, user, {
      log,
      answers,
      lagMs,
      slackMs: 0,
      gracePeriodMs,
      history,
      byPairs: switches.order !== 'falling' && switches.order !== 'rising',
    });
    record.found(findings);
    record.count('deletions', deletions);
    record.count('beyond P2', beyondP2);
    if (toldEmpty > 0) record.count('told empty', toldEmpty);
    if (history) {
      const { findings: twice, versions } = await checkVersions(db, names, user);
      record.found(twice);
      record.found(await checkReplay(db, names, user, this.#snapshots));
      record.count('versions', versions);
      record.count('moments replayed', this.#snapshots.length);
    }
    if (history || game.deletes === 'soft') record.found(await this.follower.check());
    await this.freshness(true);
  }
}
