import { createHmac } from 'node:crypto';
import { formatSpan } from '@research-mirror/runtime/figures';
import { affectedBy, type Problem, problemLine } from '../model/status/problem.ts';

/** Characters of a problem's own words, of a message's text, and places that are named. */
const MOST_WORDS = 1_000;
const MOST_TEXT = 2_000;
const MOST_PLACES = 50;

/** A problem as it is stored and sent: of bounded size. */
export interface BriefProblem extends Problem {
  /** What it affects, in words: also those places that are not named. */
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

/** What a mirror is called where several of them tell of their problems. */
export interface MirrorName {
  readonly schema: string;
  /** Address of the service. */
  readonly service: string;
  readonly version: string;
}

/** A message of a problem: its begin, or its end where `endedAt` is given. */
export interface Notification {
  readonly problem: BriefProblem;
  readonly beganAt: Date;
  readonly endedAt: Date | null;
}

/**
 * The body: `text` for incoming webhooks of Slack, Mattermost and Google Chat, `content` for Discord's, which ignore the
 * rest; `data` for programs.
 * @param now when it is sent: what is said of time is as of then
 */
export function notificationBody(
  { problem, beganAt, endedAt }: Notification,
  mirror: MirrorName,
  now: number,
): string {
  const { schema, service } = mirror;
  const of = `mirror "${schema}" of ${URL.parse(service)?.host ?? service}`;
  const { affected, ...told } = problem;
  const lastedMs = Math.max(0, (endedAt ?? beganAt).getTime() - beganAt.getTime());
  const text = plain(
    endedAt === null
      ? `Problem, ${of}: ${problemLine({ ...told, affects: affected === '' ? [] : [affected] }, now)}`
      : `Over, ${of}: ${problem.what}; it lasted ${formatSpan(lastedMs)}`,
  );
  const type = endedAt === null ? 'problem.began' : 'problem.ended';
  const timestamp = (endedAt ?? beganAt).toISOString();
  return JSON.stringify({
    type,
    timestamp,
    text,
    content: text,
    data: { ...problem, beganAt, endedAt, ...mirror },
  });
}

/** What chats would take for a mention, a link or a format of theirs: the service's words may be in it. */
function plain(text: string): string {
  const alike: Readonly<Record<string, string>> = { '<': '‹', '>': '›', '@': '＠', '[': '(', ']': ')' };
  return text
    .replaceAll(/[<>@[\]]/g, (each) => alike[each] ?? each)
    .slice(0, MOST_TEXT)
    .toWellFormed();
}

/**
 * Headers of a message by Standard Webhooks 1.0 (https://www.standardwebhooks.com): HMAC-SHA-256 of
 * `<id>.<seconds>.<body>`. Its own library, which has no text of its licence, checks them in the tests.
 * @param secret `whsec_` and the key in base64
 */
export function signedHeaders(id: string, at: Date, body: string, secret: string): Record<string, string> {
  const seconds = String(Math.floor(at.getTime() / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${mac}` };
}
