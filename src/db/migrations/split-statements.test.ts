import { expect, it } from 'vitest';
import { splitStatements } from './run-migrations.ts';

it('cuts SQL at semicolons that end a statement, and at no other', () => {
  const parts = [
    `create table a (b text default ';', "c;d" int)`,
    'do $$ begin execute $view$ select 1; $view$; end $$',
    `comment on table a /* here; */ is 'it''s; so'`,
  ];
  const text = `-- first; of all\n${parts.join(';\n-- then;\n')};\n-- the end;\n`;
  expect(splitStatements(text)).toEqual(
    parts.map((statement) => ({ at: text.indexOf(statement), statement })),
  );
});
