/** One bar: what reads, and the mean delay (s). */
export interface Bar {
  readonly label: string;
  readonly seconds: number;
}

export interface BarGroup {
  readonly title: string;
  readonly bars: readonly Bar[];
}

const LEFT = 230;
const RIGHT = 90;
const WIDTH = 900;
const BAR = 16;
const TITLE = 30;
const FIRST = 1;
const COLOURS = ['#b0b7c3', '#b0b7c3', '#b0b7c3', '#1f4fa3', '#2f9e6e'];

/** Mean delays as bars on a logarithmic axis, drawn as plain SVG that is readable on white and on black. */
export function barChart(title: string, axis: string, groups: readonly BarGroup[]): string {
  const last = Math.max(...groups.flatMap(({ bars }) => bars.map(({ seconds }) => seconds)));
  const decades = Math.ceil(Math.log10(last / FIRST));
  const xOf = (seconds: number): number =>
    LEFT + (Math.log10(Math.max(FIRST, seconds) / FIRST) / decades) * (WIDTH - LEFT - RIGHT);
  const parts: string[] = [];
  let y = 40;
  for (const { title: name, bars } of groups) {
    y += TITLE;
    parts.push(text(10, y - 8, name, 'font-weight="bold"'));
    bars.forEach(({ label, seconds }, index) => {
      const end = xOf(seconds);
      parts.push(text(LEFT - 8, y + 12, label, 'text-anchor="end"'));
      parts.push(
        `<rect x="${LEFT}" y="${y}" width="${(end - LEFT).toFixed(1)}" height="${BAR - 3}" fill="${COLOURS[index] ?? '#888'}"/>`,
      );
      parts.push(text(end + 5, y + 12, spanOf(seconds), ''));
      y += BAR;
    });
  }
  const ticks = Array.from({ length: decades + 1 }, (_, decade) => FIRST * 10 ** decade);
  const lines = ticks.map((tick) => {
    const x = xOf(tick).toFixed(1);
    return `<line x1="${x}" y1="45" x2="${x}" y2="${y + 4}" stroke="#888" stroke-opacity="0.35"/>${text(Number(x), y + 18, spanOf(tick), 'text-anchor="middle"')}`;
  });
  const height = y + 48;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${[text(10, 24, title, 'font-size="15" font-weight="bold"'), ...lines, ...parts, text((LEFT + WIDTH - RIGHT) / 2, y + 38, axis, 'text-anchor="middle"')].join('\n')}
</svg>
`;
}

function text(x: number, y: number, words: string, attributes: string): string {
  const safe = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x.toFixed(1)}" y="${y}" fill="#222" ${attributes}>${safe}</text>`;
}

/** `4.8 s`, `12 min`, `1.4 h` */
export function spanOf(seconds: number): string {
  const [value, unit] = seconds < 100 ? [seconds, 's'] : seconds < 6000 ? [seconds / 60, 'min'] : [seconds / 3600, 'h'];
  return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
}
