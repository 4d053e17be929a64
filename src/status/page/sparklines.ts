import { html } from 'hono/html';
import type { ActivityStatus } from '../../model/status/status-report.ts';
import { count, span, type Html } from './page-figures.ts';
import { DRAWN_HEIGHT, inGroups, type Series, seriesPath } from './series-path.ts';

/** One of the four series of an account's last day, and how it is drawn and said. */
interface Chart {
  readonly title: string;
  readonly of: (activity: ActivityStatus) => Series;
  readonly figure: (value: number) => string;
  /** Behind the range of values. */
  readonly unit: string;
  readonly bottom: 'zero' | 'least';
  /** Counts of a time: those of the time that goes on would look like a fall, and they have a sum. */
  readonly counted: boolean;
}

/** How a chart is drawn in a line of a table. */
interface SmallChart {
  readonly chart: Chart;
  /** The one value that stands for some. */
  readonly join: (some: readonly number[]) => number;
  /** The day in a few words. */
  readonly short: (known: readonly number[]) => string;
}

const most = (some: readonly number[]): number => Math.max(...some);
const sum = (some: readonly number[]): number => some.reduce((total, each) => total + each, 0);
const mean = (some: readonly number[]): number => sum(some) / some.length;
const ofSeconds = (seconds: number): string => span(seconds * 1000);

const FRESHNESS: Chart = {
  title: 'Freshness',
  of: ({ ageSeconds }) => ageSeconds,
  figure: ofSeconds,
  unit: ' old',
  bottom: 'zero',
  counted: false,
};
const ROWS: Chart = {
  title: 'Rows',
  of: ({ liveRows }) => liveRows,
  figure: count,
  unit: '',
  bottom: 'least',
  counted: false,
};
const CHANGES: Chart = {
  title: 'Changes',
  of: ({ changes }) => changes,
  figure: count,
  unit: ' per 5 min',
  bottom: 'zero',
  counted: true,
};
const REQUESTS: Chart = { ...CHANGES, title: 'Requests', of: ({ requests }) => requests };

const SMALL = {
  freshness: { chart: FRESHNESS, join: most, short: (known) => `at worst ${ofSeconds(most(known))}` },
  // No sum is drawn: a group with a gap in it has fewer values, and no fewer changes.
  changes: { chart: CHANGES, join: mean, short: (known) => count(sum(known)) },
} as const satisfies Readonly<Record<string, SmallChart>>;

/** Of values that the last ones are missing of, so many may be: else it is not said what is now. */
const LATELY = 3;

/** What of an activity was drawn, by `lastDay` and the kinds of `SMALL`. */
const drawn = new WeakMap<ActivityStatus, Map<string, Html>>();

/** Draws once, however often the page is made: a report has the same activity for a minute. */
function once(activity: ActivityStatus, what: string, draw: () => Html): Html {
  const known = drawn.get(activity) ?? new Map<string, Html>();
  drawn.set(activity, known);
  const made = known.get(what) ?? draw();
  known.set(what, made);
  return made;
}

/** What an account's last day looked like; nothing where no daemon mirrored it. */
export function lastDay(activity: ActivityStatus | null): Html {
  if (activity === null) return html``;
  return once(activity, 'last day', () => {
    const from = drawnFrom(activity);
    return html`<h3>Last 24 hours</h3>
      <div class="sparks">
        ${[FRESHNESS, ROWS, CHANGES, REQUESTS].map((chart) => {
          const values = valuesOf(chart, activity);
          const words = inWords(chart, values, activity.everySeconds, from);
          return html`<div>
            <span aria-hidden="true">${chart.title} <small>${words}</small></span>
            ${from === undefined ? drawing(chart, values, words) : ''}
          </div>`;
        })}
      </div>`;
  });
}

/** For a line of a table: fewer points, fewer words. */
export function smallSparkline(kind: keyof typeof SMALL, activity: ActivityStatus | null): Html {
  if (activity === null) return NO_DATA;
  const { chart, join, short } = SMALL[kind];
  return once(activity, kind, () => {
    const values = valuesOf(chart, activity);
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return NO_DATA;
    const words = inWords(chart, values, activity.everySeconds);
    return html`<span class="small-spark">
      ${drawnFrom(activity) === undefined ? drawing(chart, inGroups(values, IN_A_POINT, join), words) : ''}
      <small aria-hidden="true">${short(known)}</small>
    </span>`;
  });
}

const NO_DATA = html`<span class="quiet">no data</span>`;

/** Values in a point of a small drawing: 20 minutes. */
const IN_A_POINT = 4;

function drawing(chart: Chart, values: Series, words: string): Html {
  const box = `0 0 ${values.length - 1} ${DRAWN_HEIGHT}`;
  return html`<svg
    role="img"
    aria-label="${chart.title.toLowerCase()} in the last day: ${words}"
    viewBox="${box}"
    preserveAspectRatio="none"
  >
    <path d="${seriesPath(values, chart.bottom)}" vector-effect="non-scaling-stroke" />
  </svg>`;
}

/** Without the last one, of the time that goes on, where that is not the whole truth: yet. */
function valuesOf(chart: Chart, activity: ActivityStatus): Series {
  const values = chart.of(activity);
  return chart.counted || values.at(-1) === null ? values.slice(0, -1) : values;
}

/** Less than an hour would be some dots: since when there will be one, in UTC. Undefined: there is one. */
function drawnFrom(activity: ActivityStatus): string | undefined {
  const { from, everySeconds } = activity;
  const all = [FRESHNESS, ROWS, CHANGES, REQUESTS].map((chart) => chart.of(activity));
  const first = Math.min(
    ...all.map((values) => values.findIndex((value) => value !== null)).filter((at) => at >= 0),
  );
  const known = ((all[0]?.length ?? 0) - first) * everySeconds;
  if (known >= HOUR_S || known === -Infinity) return undefined;
  const at = new Date(Date.parse(from) + (first * everySeconds + HOUR_S) * 1000);
  return `${at.toISOString().slice(11, 16)} UTC`;
}

const HOUR_S = 3600;

/** `12 to 47 per 5 min, now 30`. */
function inWords(
  { figure, unit, counted }: Chart,
  values: Series,
  everySeconds: number,
  from?: string,
): string {
  const known = values.filter((value) => value !== null);
  const unknown = values.length - known.length;
  const missing =
    from === undefined
      ? `no data for ${ofSeconds(unknown * everySeconds)}`
      : `drawn from ${from} on, with an hour of data`;
  if (known.length === 0) return from === undefined ? 'no data' : `no data yet, ${missing}`;
  const [low, high] = [figure(Math.min(...known)), figure(most(known))];
  const now = values.slice(-LATELY).findLast((value) => value !== null);
  return [
    `${low === high ? high : `${low} to ${high}`}${unit}`,
    ...(now === undefined || now === null ? [] : [`now ${figure(now)}`]),
    ...(counted ? [`${count(sum(known))} in all`] : []),
    ...(unknown === 0 ? [] : [missing]),
  ].join(', ');
}
