import { expect, it } from 'vitest';
import { html, raw } from './reply.ts';

it('the tag escapes what could end a text or an attribute', () => {
  const evil = `<img src=x onerror='alert(1)'>"&amp;`;
  const safe = '&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&quot;&amp;amp;';
  expect(String(html`<p title="${evil}">${evil}</p>`)).toBe(`<p title="${safe}">${safe}</p>`);
});

it('the tag keeps its own HTML and escapes each value once', () => {
  const inner = html`<b>${'<'}</b>`;
  expect(String(html`<p>${inner}${raw('<hr>')}</p>`)).toBe('<p><b>&lt;</b><hr></p>');
});

it('the tag joins and escapes lists, shows numbers, and nothing for undefined', () => {
  const items = ['<', [html`<i></i>`, undefined]];
  expect(String(html`${items}|${0}|${1.5}|${undefined}|`)).toBe('&lt;<i></i>|0|1.5||');
});

it('a text that looks like HTML is escaped', () => {
  const lookalike = { toString: () => '<script>', isEscaped: true } as unknown as string;
  expect(() => html`${lookalike}`).toThrow(TypeError);
});
