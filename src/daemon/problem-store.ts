import { sql } from 'kysely';
import type { Db } from '../postgres/db.ts';
import { HAPPENED_AHEAD_MS, hasCome, unlessAhead } from '../postgres/clock-step.ts';

/** So long (ms) a problem is found before its begin is told, and is found by nobody before its end is. */
export const STEADY_MS = 60_000;
/**
 * Who takes a message has it so long (ms), each further time twice as long: then whoever comes takes it again, after
 * a failure as after a kill. More than a request may take.
 */
const FIRST_TURN_MS = 30_000;
const LONGEST_TURN_MS = 300_000;
/** Begins that are told within an hour; what is over before its turn comes is not told. */
const MOST_AN_HOUR = 10;
const HOUR_MS = 3_600_000;
/** Problems that are kept while something of them is untold. */
const MOST_KEPT = 100;

interface FoundProblem<P> {
  /** Of the row that is made where there is none. */
  readonly id: string;
  /** Of the same name it is the same problem. */
  readonly name: string;
  readonly problem: P;
}

/** A message: of the problem's begin, or of its end where `endedAt` is set. */
export interface DueMessage<P> {
  readonly id: string;
  readonly problem: P;
  readonly beganAt: Date;
  readonly endedAt: Date | null;
  /** When it was taken, by the database's clock. */
  readonly takenAt: Date;
}

export type ProblemStore<P> = ReturnType<typeof createProblemStore<P>>;

/** Problems that people are told of: a row each, which all daemons see, and one sends, at least once. */
export function createProblemStore<P>(db: Db) {
  return {
    /**
     * Stores what a look found.
     * @param at when, by the database's clock
     * @param mayEnd whether what nobody has found for a while is over
     */
    look(at: Date, found: readonly FoundProblem<P>[], mayEnd: boolean): Promise<void> {
      const names = found.map(({ name }) => name);
      const unseen = sql`(p.seen_at < ${after(at, -STEADY_MS)}::timestamptz
        or p.seen_at > ${after(at, HAPPENED_AHEAD_MS)}::timestamptz)`;
      return db.transaction(async (trx) => {
        // All is told of it, or nobody began to tell and it is over.
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

    /** Takes the message that is due next, for this process alone; undefined: none is, or another one was faster. */
    async take(): Promise<DueMessage<P> | undefined> {
      const { rows } = await db.sql<DueMessage<P> & { readonly isTold: boolean; readonly tries: number }>`
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

    async delivered({ id, endedAt, takenAt }: DueMessage<P>): Promise<void> {
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
