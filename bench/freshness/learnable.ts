import type { Shape } from './shapes.ts';

const HOUR = 3_600_000;

/**
 * How much longer changes take, at least, than where every rate is known: for a reader that has counted each list's
 * changes for so long, and knows how the rates are distributed. It expects of each list E[λ | n changes], and nobody
 * can expect better. The mean over lists of one distribution: it is taken from the lists themselves.
 */
export function leastLoss({ scopes }: Shape, watchedMs: number): number {
  const rates = scopes
    .filter(({ kind }) => kind === 'list')
    .map(({ perHour }) => (perHour / HOUR) * watchedMs);
  const sample = rates.filter((_, index) => index % Math.ceil(rates.length / 500) === 0);
  // P(n | λ) for all n that matter, and from these E[λ | n].
  const most = 400;
  const weights = sample.map((mean) => poisson(mean, most));
  const expected = Array.from({ length: most }, (_, n) => {
    const [sum, mass] = weights.reduce(
      ([total, all], each, index) => [total + (each[n] ?? 0) * (sample[index] ?? 0), all + (each[n] ?? 0)],
      [0, 0],
    );
    return mass === 0 ? n : sum / mass;
  });
  let roots = 0;
  let delays = 0;
  let best = 0;
  sample.forEach((mean, index) => {
    best += Math.sqrt(mean);
    expected.forEach((guess, n) => {
      const chance = weights[index]?.[n] ?? 0;
      roots += chance * Math.sqrt(guess);
      delays += (chance * mean) / Math.sqrt(guess);
    });
  });
  return (roots * delays) / best ** 2;
}

function poisson(mean: number, most: number): Float64Array {
  const chances = new Float64Array(most);
  let log = -mean;
  for (let n = 0; n < most; n += 1) {
    if (n > 0) log += Math.log(mean / n);
    chances[n] = Math.exp(log);
  }
  return chances;
}
