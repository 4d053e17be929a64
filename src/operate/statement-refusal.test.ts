import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { StatementRefused } from './read-only-query.ts';
import { explainRefusal } from './sql.ts';

function refusal(message: string, fields: Partial<pg.DatabaseError>): StatementRefused {
  return new StatementRefused(Object.assign(new pg.DatabaseError(message, 0, 'error'), fields));
}

describe('explainRefusal', () => {
  it('marks the position, counted in characters and below tabs', () => {
    const query = "select '😀',\n\twrong from t";
    const text = explainRefusal(
      refusal('column "wrong" does not exist', { code: '42703', position: '14' }),
      query,
    );
    expect(text).toBe(
      'research-mirror: column "wrong" does not exist (42703)\nline 2: \twrong from t\n        \t^\n',
    );
  });

  it('repeats Postgres’s hint, and explains that only one statement is accepted', () => {
    expect(explainRefusal(refusal('no', { code: '42P01', hint: 'try that' }), 'x')).toContain(
      'hint: try that',
    );
    const several = refusal('cannot insert multiple commands into a prepared statement', { code: '42601' });
    expect(explainRefusal(several, 'select 1; select 2')).toContain('one statement at a time');
  });
});
