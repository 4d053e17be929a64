import { describe, expect, it } from 'vitest';
import { listAnswer } from './list-answer.ts';

const AROUND = { head: '{"data":[', tail: ']}' };

function* items(count: number, length: number, made: { count: number }): Generator<string> {
  for (let index = 0; index < count; index += 1) {
    made.count += 1;
    yield `"${'x'.repeat(length)}"`;
  }
}

describe('the answer with a page', () => {
  it.each([0, 1, 3])('of %i items is one text', (count) => {
    const { body, rest, items: told } = listAnswer(items(count, 5, { count: 0 }), count, AROUND);
    expect(JSON.parse(body ?? '')).toEqual({ data: Array.from({ length: count }, () => 'xxxxx') });
    expect(rest).toBeUndefined();
    expect(told).toBe(count);
  });

  it('that is too large for memory is made while it is sent', () => {
    const made = { count: 0 };
    const { body = '', rest = [] } = listAnswer(items(20, 1_000_000, made), 20, AROUND);
    expect(made.count).toBe(5);
    const whole = body + [...rest].join('');
    expect((JSON.parse(whole) as { data: string[] }).data).toHaveLength(20);
    expect(made.count).toBe(20);
  });
});
