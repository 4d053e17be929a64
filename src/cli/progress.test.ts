import { describe, expect, it } from 'vitest';
import { Scrubber } from '../runtime/scrub.ts';
import { Progress } from './progress.ts';
import { hasColour, type Shell } from './shell.ts';

function makeShell(terminal: { isTTY?: boolean; columns?: number }): {
  shell: Shell;
  text: () => string;
  pass: (ms: number) => void;
} {
  let text = '';
  let now = 0;
  const sink = { ...terminal, write: (part: string) => (text += part) };
  const clock = { now: () => now, monotonic: () => now, sleep: () => Promise.resolve() };
  const signal = new AbortController().signal;
  return {
    shell: { env: {}, out: sink, err: sink, signal, clock, scrubber: new Scrubber() },
    text: () => text,
    pass: (ms) => (now += ms),
  };
}

describe('Progress', () => {
  it('replaces its line on a terminal, cut to its width', () => {
    const { shell, text, pass } = makeShell({ isTTY: true, columns: 10 });
    const progress = new Progress(shell);
    progress.show('one');
    pass(50);
    progress.show('too soon');
    pass(100);
    progress.show('much too long for it');
    progress.end();
    expect(text()).toBe('\r\u001b[Kone\r\u001b[Kmuch too…\n');
  });

  it('writes plain lines elsewhere, seldom, and the last state at the end', () => {
    const { shell, text, pass } = makeShell({});
    const progress = new Progress(shell);
    progress.show('one');
    pass(1_000);
    progress.show('two');
    pass(4_000);
    progress.show('three');
    progress.show('four');
    progress.end();
    progress.end();
    expect(text()).toBe('one\nthree\nfour\n');
  });

  it('lets other lines pass above it', () => {
    const { shell, text } = makeShell({ isTTY: true, columns: 80 });
    const progress = new Progress(shell);
    progress.show('reading');
    progress.say('a message');
    expect(text()).toBe('\r\u001b[Kreading\r\u001b[Ka message\nreading');
  });
});

describe('hasColour', () => {
  it('knows terminals, NO_COLOR and dumb ones', () => {
    const terminal = { isTTY: true, write: () => {} };
    expect(hasColour(terminal, {})).toBe(true);
    expect(hasColour(terminal, { NO_COLOR: '1' })).toBe(false);
    expect(hasColour(terminal, { NO_COLOR: '' })).toBe(true);
    expect(hasColour(terminal, { TERM: 'dumb' })).toBe(false);
    expect(hasColour({ write: () => {} }, {})).toBe(false);
  });
});
