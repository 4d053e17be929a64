import { sql } from 'kysely';
import { HAPPENED_AHEAD_MS, hasCome, unlessAhead } from '../postgres/clock-step.ts';
import type { Db } from '../postgres/db.ts';
import { affectedBy, type Problem } from '../status/problem.ts';

/** A problem is found for this time before it is told, and not found before its end is told, ms. */
export const STEADY_MS = 60_000;
/** A taken message is its taker's for this time, ms, which doubles with each try. More than a request may take. */
const FIRST_TURN_MS = 30_000;
const LONGEST_TURN_MS = 300_000;
/** Most begins that are told within an hour. A problem that is over before its turn is not told. */
const MOST_AN_HOUR = 10;
const HOUR_MS = 3_600_000;
/** Most problems that are stored while a message of them is due. */
const MOST_KEPT = 100;
/** Longest text of a problem, in characters, and most places that it names. */
const MOST_WORDS = 1_000;
const MOST_PLACES = 50;

/** A problem as it is stored and sent: of bounded size. */
export interface BriefProblem extends Problem {
  /** What it affects, in words, with the places that `affects` leaves out. */
  readonly affected: string;
}

export function briefProblem(problem: Problem, scrub: (text: string) => string): BriefProblem {
  const clean = (text: string): string =>
    scrub(text)
      .replaceAll(/[\p{Cc}\s]+/gu, ' ')
      .slice(0, MOST_WORDS)
      .toWellFormed();
  return {
    ...problem,
    what: clean(problem.what),
    remedy: problem.remedy && clean(problem.remedy),
    affects: problem.affects.slice(0, MOST_PLACES).map(clean),
    affected: affectedBy(problem),
  };
}

/** A message of the problem's begin, or of its end if `endedAt` is set. */
export interface DueMessage extends Readonly<Record<'beganAt' | 'takenAt', Date>> {
  readonly id: string;
  readonly problem: BriefProblem;
  readonly endedAt: Date | null;
}

export type ProblemStore = ReturnType<typeof createProblemStore>;

/** Problems that people are told of: a row each, which all daemons see and one sends, at least once. */
export function createProblemStore(db: Db) {
  return {
    /**
     * Stores the problems that a look found.
     * @param at by the database's clock
     * @param found problems of the same name are one; `id` is for a new row
     * @param mayEnd problems that no daemon has found for a while are over
     */
    look(
      at: Date,
      found: readonly (Pick<DueMessage, 'id' | 'problem'> & { readonly name: string })[],
      mayEnd: boolean,
    ): Promise<void> {
      const names = found.map(({ name }) => name);
      const unseen = sql`(p.seen_at < ${after(at, -STEADY_MS)}::timestamptz
        or p.seen_at > ${after(at, HAPPENED_AHEAD_MS)}::timestamptz)`;
      return db.transaction(async (trx) => {
        // Both messages are sent, or it was over before the first try.
        await trx.sql`
          delete from ${trx.stateTable('problem')} as p
          where p.over_told_at < ${after(at, -HOUR_MS)}::timestamptz
            or p.told_at is null and p.tries = 0 and ${unseen}`;
        await trx.sql`
          update ${trx.stateTable('problem')} as p set seen_at = ${at}::timestamptz
          where p.over_at is null and p.name = any(${names}::text[])`;
        if (mayEnd) {
          await trx.sql`
            update ${trx.stateTable('problem')} as p set over_at = ${at}::timestamptz
            where p.over_at is null and ${unseen}`;
        }
        await trx.sql`
          insert into ${trx.stateTable('problem')} (problem_id, name, problem, found_at, seen_at)
          select x.id, x.name, x.problem, ${at}::timestamptz, ${at}::timestamptz
          from jsonb_to_recordset(${JSON.stringify(found)}::jsonb) as x (id text, name text, problem jsonb)
          where ${MOST_KEPT} > (
            select count(*) from ${trx.stateTable('problem')} as o where o.over_told_at is null)
          on conflict (name) where over_at is null do nothing`;
      });
    },

    /** Takes the next due message for this process; undefined: none is due, or another process was faster. */
    async take(): Promise<DueMessage | undefined> {
      const { rows } = await db.sql<DueMessage & { readonly isTold: boolean; readonly tries: number }>`
        select p.problem_id as id, p.problem, p.found_at as "beganAt", p.told_at is not null as "isTold", p.tries,
          case when p.told_at is not null then p.over_at end as "endedAt", clock_timestamp() as "takenAt"
        from ${db.stateTable('problem')} as p
        where p.over_told_at is null and (p.retry_at is null or ${hasCome(sql`p.retry_at`, LONGEST_TURN_MS)})
          and case when p.told_at is not null then p.over_at is not null
            else p.seen_at >= ${unlessAhead(sql`p.found_at`)} + ${`${STEADY_MS} ms`}::interval
              and ${MOST_AN_HOUR} > (
                select count(*) from ${db.stateTable('problem')} as o
                where ${unlessAhead(sql`o.told_at`)} > clock_timestamp() - ${`${HOUR_MS} ms`}::interval) end
        order by p.found_at limit 1`;
      const [due] = rows;
      if (due === undefined) return undefined;
      const { id, tries, isTold, takenAt } = due;
      const turnMs = Math.min(LONGEST_TURN_MS, FIRST_TURN_MS * 2 ** Math.min(tries, 10));
      const { numAffectedRows } = await db.sql`
        update ${db.stateTable('problem')} set tries = tries + 1, retry_at = ${after(takenAt, turnMs)}::timestamptz
        where problem_id = ${id} and tries = ${tries} and (told_at is not null) = ${isTold}`;
      return numAffectedRows === 1n ? due : undefined;
    },

    async delivered({ id, endedAt, takenAt }: DueMessage): Promise<void> {
      await db.sql`
        update ${db.stateTable('problem')} set tries = 0, retry_at = null,
          ${sql.id(endedAt === null ? 'told_at' : 'over_told_at')} = ${takenAt}::timestamptz
        where problem_id = ${id}`;
    },
  };
}

function after(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms);
}
