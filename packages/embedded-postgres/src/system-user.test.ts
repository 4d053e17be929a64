import { expect, it } from 'vitest';
import { parsePasswd } from './location.ts';

it('reads users from /etc/passwd, with the negative numbers and comments of macOS', () => {
  const text = '##\n# User Database\n##\nnobody:*:-2:-2:Unprivileged User:/var/empty:/usr/bin/false\nroot:*:0:0:::\n\n';
  expect(parsePasswd(text)).toEqual([
    { name: 'nobody', uid: 4_294_967_294, gid: 4_294_967_294 },
    { name: 'root', uid: 0, gid: 0 },
  ]);
});
