import { collection, COLLECTIONS } from '../../../../src/model/collections.ts';
import { fieldSource, sliceElements } from '../../../../src/model/json-text.ts';
import type { SourceScope } from './truth-log.ts';

/** One request of a list that was answered with a page. Moments are milliseconds of this machine's clock. */
interface Answered {
  readonly path: string;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly ids: ReadonlySet<string>;
}

/** What the service answered, by scope: what the mirror's proofs can rest on. */
export class AnswerLog {
  readonly #byScope = new Map<string, Answered[]>();

  /** @param text body of a 200, or '' for a refusal that says that there is no such list */
  note(path: string, sentAt: number, answeredAt: number, text: string): void {
    const scope = scopeOfPath(path);
    if (scope === undefined) return;
    const name = `${scope.collection}/${scope.list}`;
    const answers = this.#byScope.get(name) ?? [];
    this.#byScope.set(name, answers);
    answers.push({ path, sentAt, answeredAt, ids: idsOf(text, scope.collection) });
  }

  /** Answers of a scope, oldest first. */
  of({ collection: name, list }: SourceScope): readonly Answered[] {
    return this.#byScope.get(`${name}/${list}`) ?? [];
  }
}

function scopeOfPath(path: string): SourceScope | undefined {
  const [pathname = ''] = path.split('?');
  for (const each of COLLECTIONS) {
    if (each.kind !== 'list' || each.name === 'account') continue;
    if (each.parent === undefined && each.path('') === pathname) {
      return { collection: each.name, list: '' };
    }
  }
  const list = /^\/v1\/lists\/([^/]+)$/.exec(pathname)?.[1];
  return list === undefined ? undefined : { collection: 'list_items', list: decodeURIComponent(list) };
}

/** IDs on a page; none where the body is no page. */
function idsOf(text: string, name: SourceScope['collection']): Set<string> {
  const found = collection(name);
  if (found.kind !== 'list') return new Set();
  for (const path of [['data'], ['result', 'data'], ['accounts', 'data']]) {
    try {
      const ids = sliceElements(text, path).map((item) => fieldSource(item, found.keyField) ?? '');
      return new Set(ids.map((id) => id.replace(/^"(.*)"$/, '$1')));
    } catch {
      // Not there: the next place.
    }
  }
  return new Set();
}
