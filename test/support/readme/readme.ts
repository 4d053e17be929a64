import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../rules/source-files.ts';

/** A block of code, and what it prints: the block of text directly beneath it. */
export interface Block {
  /** `sh`, `sql`, or anything else: then it is neither run nor compared. */
  readonly language: string;
  readonly code: string;
  /** Undefined where nothing is beneath it. */
  readonly output: string | undefined;
}

export function readReadme(): string {
  return readFileSync(join(ROOT, 'README.md'), 'utf8');
}

export function blocksOf(text: string): readonly Block[] {
  // A block that is in a list is as far left as one that is not.
  const atLeft = text.replaceAll(/^( +)```[\s\S]*?^\1```$/gm, (block, indent: string) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
  const found = [...atLeft.matchAll(/^```(\w*)\n([\s\S]*?)^```\n(?:\n*```text\n([\s\S]*?)^```\n)?/gm)];
  return found.map(([, language = '', code = '', output]) => ({ language, code, output }));
}

/** The commands of a shell block: each line, each part of one that `&&` joins; a here document goes with its line. */
export function commandsOf({ code }: Block): readonly string[] {
  const lines = code.replaceAll(/(<<'(\w+)'\n)[\s\S]*?^\2$/gm, '<<$2');
  return lines
    .split(/\n|&&/)
    .map((line) => line.replace(/(?:^|\s+)#.*$/, '').trim())
    .filter((line) => line !== '');
}

/** What `command` prints as the README shows it; undefined where it shows nothing. */
export function shownBelow(command: string): string | undefined {
  return blocksOf(readReadme()).find((block) => commandsOf(block).includes(command))?.output;
}

/** Words of prose: without code, outputs, tables, images and comments; of a link its text. */
export function countWords(text: string): number {
  const prose = text
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .replaceAll(/^\|.*$/gm, '')
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return prose.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/**
 * What is compared of an output: moments, intervals, ages, ports and numbers of 13 or more digits are taken out, of the
 * lines of a table its rules and gaps. So the answer of psql and that of `sql` are the same.
 */
export function comparable(output: string): readonly string[] {
  return output
    .replaceAll(/\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?/g, '<moment>')
    .replaceAll(/(?:\d+ days? )?\b\d\d:\d\d:\d\d(?:\.\d+)?/g, '<interval>')
    .replaceAll(/\b[\d.]+ (?:ms|s|min|h|d)\b/g, '<interval>')
    .replaceAll(/((?:127\.0\.0\.1|localhost):)\d+/g, '$1<port>')
    .replaceAll(/\b\d{13,}\b/g, '<id>')
    .split('\n')
    .filter((line) => !/^[\s─+-]+$/.test(line))
    .map((line) => line.replaceAll(/[\s|]+/g, ' ').trim())
    .filter((line) => line !== '');
}

/**
 * Of lines that are shown, the first one that an output lacks behind those before it; figures aside. `…` stands for
 * any lines.
 */
export function missingLine(shown: string, output: string): string | undefined {
  const figuresAside = (text: string): readonly string[] =>
    comparable(text).map((line) => line.replaceAll(/\d[\d,.]*/g, '<number>'));
  let rest = figuresAside(output);
  return figuresAside(shown).find((line) => {
    if (line === '…') return false;
    const at = rest.indexOf(line);
    rest = rest.slice(at + 1);
    return at === -1;
  });
}

/** Where the links of a document lead within the repository: what stands in code is no link. */
export function linksOf(text: string): readonly string[] {
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').replaceAll(/`[^`\n]*`/g, '');
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => !/^(?:https?|mailto):/.test(link));
}

/** Links that lead to no file of the checkout, or to no heading in it, as `path: link`. @param files text by path */
export function brokenLinks(
  files: ReadonlyMap<string, string>,
  resolve: (from: string, to: string) => string | undefined,
): string[] {
  return [...files].flatMap(([path, text]) =>
    linksOf(text)
      .filter((link) => {
        const [to = '', anchor] = link.split('#');
        const target = to === '' ? text : resolve(path, to);
        return target === undefined || (anchor !== undefined && !anchorsOf(target).has(anchor));
      })
      .map((link) => `${path}: ${link}`),
  );
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
  for (const [, heading = ''] of prose.matchAll(/^#{1,6} +(.+)$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = plain.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-');
    let [anchor, times] = [slug, 0];
    while (anchors.has(anchor)) anchor = `${slug}-${(times += 1)}`;
    anchors.add(anchor);
  }
  return anchors;
}
