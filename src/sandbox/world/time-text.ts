import type { SandboxOptions } from '../switches/sandbox-switches.ts';

/** A moment as JSON text in the form that the switch `times` names; null for undefined. */
export function timeText(ms: number | undefined, form: SandboxOptions['times']): string {
  if (ms === undefined) return 'null';
  if (form === 'epoch') return String(Math.floor(ms / 1000));
  const iso = new Date(ms).toISOString();
  switch (form) {
    case 'z':
      return `"${iso.slice(0, 19)}Z"`;
    case 'offset':
      return `"${iso.slice(0, 19)}+00:00"`;
    case 'none':
      return `"${iso.slice(0, 19)}"`;
    case 'fraction':
      return `"${iso.slice(0, 23)}${String(Math.floor(ms * 1009) % 1000).padStart(3, '0')}Z"`;
  }
}
