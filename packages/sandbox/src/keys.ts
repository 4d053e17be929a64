export interface KeyOwner {
  readonly key: string;
  readonly userId: number;
}

/** Reads `key=user_id,key=user_id…`: several keys may belong to one user. */
export function parseKeys(value: string): readonly KeyOwner[] | { readonly problem: string } {
  const owners: KeyOwner[] = [];
  for (const part of value.split(',')) {
    const match = /^\s*([\w.~+/-]+)=(\d{1,15})\s*$/.exec(part);
    if (match === null) return { problem: 'must be key=user_id,…' };
    const [, key = '', userId = ''] = match;
    if (owners.some((owner) => owner.key === key)) return { problem: 'must name each key once' };
    owners.push({ key, userId: Number(userId) });
  }
  return owners;
}
