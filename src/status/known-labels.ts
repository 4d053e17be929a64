import type { Counter, Histogram, LabelValues } from '@prometheus-io/client';
import {
  AnswerTooLarge,
  KeyRefused,
  MalformedAnswer,
  RateLimited,
  RequestRefused,
  ServiceError,
  TransportError,
} from '../model/errors.ts';

/** An endpoint that may be asked. */
export interface KnownEndpoint {
  /** The path with `{id}` for IDs. */
  readonly route: string;
  /** The rate limit in which its requests count. */
  readonly group: string;
}

/** How requests usually end; any other status has its series from its first answer on. */
export const USUAL_STATUSES = [
  '200 201 202 400 401 402 403 404 408 409 422 425 429 500 502 503 504 none',
].flatMap((statuses) => statuses.split(' '));

/** What an exchange with the service may report (src/model/errors.ts). */
export const ERROR_KINDS = [
  TransportError,
  ServiceError,
  RateLimited,
  MalformedAnswer,
  AnswerTooLarge,
  RequestRefused,
  KeyRefused,
].map(({ name }) => name);

type Labels = Readonly<Record<string, readonly string[]>>;

/**
 * Has a series at 0 for each combination of the labels' values: `increase()` sees no first event in a series that
 * begins with it.
 */
export function startAtZero<Label extends string>(
  metric: Counter<Label> | Histogram<Label>,
  labels: Readonly<Record<Label, readonly string[]>>,
): void {
  for (const each of combinations(labels)) {
    if ('zero' in metric) metric.zero(each as LabelValues<Label>);
    else metric.inc(each as LabelValues<Label>, 0);
  }
}

function combinations(labels: Labels): Record<string, string>[] {
  return Object.entries(labels).reduce<Record<string, string>[]>(
    (before, [name, values]) => before.flatMap((each) => values.map((value) => ({ ...each, [name]: value }))),
    [{}],
  );
}
