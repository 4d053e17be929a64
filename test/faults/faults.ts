/** A mistake in the sources that breaks a promise, and the test that fails then. */
export interface Fault {
  /** Of ARCHITECTURE.md, "What must always hold"; four each. */
  readonly invariant: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10;
  readonly fault: string;
  readonly edit: {
    readonly file: string;
    /** Occurs once in the file. */
    readonly find: string;
    readonly put: string;
  };
  readonly caughtBy: {
    readonly file: string;
    /** As it stands there; of a table's name, a part without its placeholders. */
    readonly test: string;
  };
}

export const FAULTS: readonly Fault[] = [
  {
    invariant: 1,
    fault: 'a page’s rows are committed without the cursor at which its walk goes on',
    edit: {
      file: 'src/sync/walk-run/page-decision.ts',
      find: '{ fullWalk: end === undefined ? checkpoint(walk) : null }',
      put: '{ fullWalk: null }',
    },
    caughtBy: {
      file: 'test/integration/invariants/walks.test.ts',
      test: 'goes on after its last committed page',
    },
  },
  {
    invariant: 1,
    fault: 'a row is superseded, and the version before it does not go to the history with it',
    edit: {
      file: 'src/mirror/page/write-changed.ts',
      find: 'context.history ? registry.archived : undefined',
      put: 'undefined',
    },
    caughtBy: {
      file: 'test/integration/mirror/history/history.test.ts',
      test: 'has nothing after a first load, and then the image before the write, once',
    },
  },
  {
    invariant: 1,
    fault: 'a page’s rows are committed, and what they move in the counters is not',
    edit: {
      file: 'src/mirror/page/write-changed.ts',
      find: 'countRows(trx, scope, ',
      put: 'Promise.resolve(',
    },
    caughtBy: {
      file: 'test/integration/mirror/page/write-page.test.ts',
      test: 'of which Postgres refuses rows counts those that are written',
    },
  },
  {
    invariant: 1,
    fault: 'a full walk that was killed begins again from the top',
    edit: {
      file: 'src/sync/walk-run/read-scope.ts',
      find: 'if (interrupted !== undefined) return resumeFull(',
      put: 'if (interrupted === null) return resumeFull(',
    },
    caughtBy: {
      file: 'test/integration/invariants/walks.test.ts',
      test: 'goes on after its last committed page',
    },
  },
  {
    invariant: 2,
    fault: 'a 206, which is a part of a list, counts as the list',
    edit: { file: 'src/api/api.ts', find: 'refuseOtherSuccess(status);', put: '' },
    caughtBy: { file: 'src/api/refusal.test.ts', test: 'is given up when it fails again and again' },
  },
  {
    invariant: 2,
    fault: 'an answer without an array of items counts as an empty list',
    edit: {
      file: 'src/api/envelope.ts',
      find: 'const list = findList(parseObject(text));',
      put: `if (!text.includes('[')) return { items: [], hasMore: false, nextCursor: undefined };
        const list = findList(parseObject(text));`,
    },
    caughtBy: { file: 'src/api/envelope.test.ts', test: 'for no page: ' },
  },
  {
    invariant: 2,
    fault: 'of a name that occurs twice in an answer the last one counts',
    edit: {
      file: 'src/model/json/json-text.ts',
      find: 'eachMember(text, at, namesOnce(), ',
      put: 'eachMember(text, at, () => {}, ',
    },
    caughtBy: {
      file: 'src/model/json/json-text.test.ts',
      test: 'refuses a name that occurs twice on the way',
    },
  },
  {
    invariant: 2,
    fault:
      'a first page without items counts as an empty list though it says itself how many items there are',
    edit: {
      file: 'src/api/api.ts',
      find: 'if (isWhole && page.items.length === 0) refuseFalseEnd(text, headers);',
      put: '',
    },
    caughtBy: { file: 'src/api/refusal.test.ts', test: 'is given up when it fails again and again' },
  },
  {
    invariant: 3,
    fault: 'each row that is read is written, whether its content is another or not',
    edit: {
      file: 'src/mirror/rows/classify.ts',
      find: 'return known.hash === row.hash ? []',
      put: 'return known.hash === undefined ? []',
    },
    caughtBy: {
      file: 'src/mirror/rows/classify.test.ts',
      test: 'differ from the stored rows by hash, absence or deletion',
    },
  },
  {
    invariant: 3,
    fault: 'another order of an item’s fields is a change',
    edit: {
      file: 'src/mirror/rows/content-hash.ts',
      find: 'canonicalText(itemSource, leaveOut) + never',
      put: 'itemSource + never',
    },
    caughtBy: {
      file: 'test/integration/mirror/page/write-page.test.ts',
      test: 'becomes rows, and the second page writes only what differs',
    },
  },
  {
    invariant: 3,
    fault: 'a field that is to be ignored makes a change',
    edit: {
      file: 'src/mirror/rows/content-hash.ts',
      find: 'new Set([...excluded, ...ignore])',
      put: 'new Set(excluded)',
    },
    caughtBy: {
      file: 'test/integration/mirror/page/write-page.test.ts',
      test: 'make no change when they are ignored',
    },
  },
  {
    invariant: 3,
    fault: 'rows that are the same by other rules of hashing become new versions',
    edit: {
      file: 'src/mirror/page/rehash.ts',
      find: 'return item !== undefined && isSameContent(',
      put: 'return item === null && isSameContent(',
    },
    caughtBy: {
      file: 'test/integration/mirror/page/rehash.test.ts',
      test: 'changes no row: they are hashed again in place, once',
    },
  },
  {
    invariant: 4,
    fault: 'a page is written though the database has another observation than the one before it',
    edit: {
      file: 'src/mirror/scope/scope-row.ts',
      find: 'sql`t.last_obs = ${place.after}::bigint`',
      put: 'sql`true`',
    },
    caughtBy: {
      file: 'test/integration/mirror/page/write-page.test.ts',
      test: 'is not applied after a later observation',
    },
  },
  {
    invariant: 4,
    fault: 'two requests of one scope are under way at once',
    edit: {
      file: 'src/sync/scope/scope-session.ts',
      find: 'return this.#exchanges.run(',
      put: 'return new Mutex().run(',
    },
    caughtBy: { file: 'src/sync/scope/scope-session.test.ts', test: 'has one request under way at most' },
  },
  {
    invariant: 4,
    fault: 'rows that are proven gone are deleted while a page of their scope is written',
    edit: {
      file: 'src/sync/scope/scope-session.ts',
      find: 'return this.#writes.run(() => process(answer, obs));',
      put: 'return process(answer, obs);',
    },
    caughtBy: {
      file: 'src/sync/scope/scope-session.test.ts',
      test: 'writes nothing else while a page is written',
    },
  },
  {
    invariant: 4,
    fault: 'a poll that was broken off moves the frontier',
    edit: {
      file: 'src/walk/kinds/poll.ts',
      find: 'const open = after === undefined ? memory.open : { first, at, asOf, after, low };',
      put: `const open = null;
        if (first !== null)
          memory = { ...memory, frontier: advance(memory.keyType, memory.frontier, { key: first, at, asOf }) };`,
    },
    caughtBy: {
      file: 'src/walk/kinds/poll.property.test.ts',
      test: 'leaves no row unknown once the source is quiet, whatever was interrupted before',
    },
  },
  {
    invariant: 5,
    fault: 'a row is deleted by a second look that came before the grace period was over',
    edit: {
      file: 'src/walk/memory/second-proof.ts',
      find: 'if (first.at > answer.sentAt - gracePeriodMs) return false;',
      put: '',
    },
    caughtBy: { file: 'src/walk/memory/second-proof.test.ts', test: 'is none that was asked for sooner' },
  },
  {
    invariant: 5,
    fault: 'a row that was seen again stays under suspicion',
    edit: {
      file: 'src/walk/absence/suspects.ts',
      find: "return !copied || suspect.kind === 'returned' || suspect.at <= sentAt;",
      put: 'return false;',
    },
    caughtBy: {
      file: 'src/walk/absence/suspects.test.ts',
      test: 'withdraws the suspicion of every row that was seen',
    },
  },
  {
    invariant: 5,
    fault: 'what a page lacks in a list whose order is not trusted is a proof',
    edit: {
      file: 'src/walk/absence/proof.ts',
      find: "direction === null || orderGrade(memory) !== 'trusted'",
      put: 'direction === null',
    },
    caughtBy: { file: 'src/walk/absence/proof.test.ts', test: 'or an order not trusted' },
  },
  {
    invariant: 5,
    fault: 'the brake lets more rows go than its share',
    edit: {
      file: 'src/mirror/deletion/brake.ts',
      find: 'const volume = suspected + deleted;',
      put: 'const volume = suspected;',
    },
    caughtBy: {
      file: 'src/mirror/deletion/brake.test.ts',
      test: 'judges the same while deletions are under way, part by part',
    },
  },
  {
    invariant: 6,
    fault: 'a slot is free again a minute after its request was sent, not after it was answered',
    edit: {
      file: 'src/budget/create-budget.ts',
      find: 'answer.receivedAt >= sentAt && answer.receivedAt <= now ? answer.receivedAt : now',
      put: 'sentAt',
    },
    caughtBy: {
      file: 'src/budget/create-budget.test.ts',
      test: 'is free a window and a guard after the answer, not after the sending',
    },
  },
  {
    invariant: 6,
    fault: 'who takes an account over takes the slots that the owner before reserved for free ones',
    edit: {
      file: 'src/budget/store/inherit.ts',
      find: 'let open = size - freed.length;',
      put: 'let open = 0;',
    },
    caughtBy: {
      file: 'src/budget/store/inherit.test.ts',
      test: 'of which nothing was recorded counts as sent',
    },
  },
  {
    invariant: 6,
    fault: 'a request is repeated in the slot of the one before',
    edit: {
      file: 'src/api/attempt.ts',
      find: 'const answer = await send(signal, begun).catch(unanswered);',
      put: `let answer = await send(signal, begun).catch(unanswered);
          if (answer.status >= 500) answer = await send(signal, begun).catch(unanswered);`,
    },
    caughtBy: {
      file: 'src/api/api.test.ts',
      test: 'survives what may pass by itself, each attempt on a slot of its own',
    },
  },
  {
    invariant: 6,
    fault: 'after a 429 the group goes on at once',
    edit: {
      file: 'src/budget/group-model.ts',
      find: 'this.pausedUntil = Math.max(this.pausedUntil, now + pauseAfter(headers) + GUARD_MS);',
      put: '',
    },
    caughtBy: {
      file: 'src/budget/create-budget.test.ts',
      test: 'stops its whole group for as long as Retry-After says, and no other',
    },
  },
  {
    invariant: 7,
    fault: 'a delivery is answered before it is committed',
    edit: {
      file: 'src/webhooks/receive/receiver.ts',
      find: 'const outcome = await store.store(userId, event);',
      put: `store.store(userId, event).catch(() => {});
        const outcome = 'stored';`,
    },
    caughtBy: { file: 'src/webhooks/receive/receiver.test.ts', test: 'is not answered before it is stored' },
  },
  {
    invariant: 7,
    fault: 'a delivery that could not be stored is answered with 200',
    edit: {
      file: 'src/webhooks/receive/receiver.ts',
      find: "return answer(503, 'not now: the database does not answer');",
      put: "return answer(200, 'taken');",
    },
    caughtBy: {
      file: 'src/webhooks/receive/receiver.test.ts',
      test: 'that can not be stored now is answered 503',
    },
  },
  {
    invariant: 7,
    fault: 'an event is stored and its hint is not',
    edit: {
      file: 'src/db/events/event-store.ts',
      find: 'if (stored.length > 0) await addHints(trx, userId, rows, seen.at);',
      put: '',
    },
    caughtBy: {
      file: 'test/integration/db/events/event-store.test.ts',
      test: 'is stored whole, with every digit, and makes due what it names',
    },
  },
  {
    invariant: 7,
    fault: 'a signature that a secret on its way could explain is refused for good',
    edit: {
      file: 'src/webhooks/receive/judge.ts',
      find: "if (state === 'registering' || state === 'suspect') {",
      put: "if (state === 'suspect') {",
    },
    caughtBy: {
      file: 'src/webhooks/receive/judge.test.ts',
      test: 'puts off what it can not explain while another secret may be on its way',
    },
  },
  {
    invariant: 8,
    fault: 'an operation is sent before its claim is committed',
    edit: {
      file: 'src/api/once.ts',
      find: 'claimed = await claim(asked);',
      put: `void claim(asked);
        claimed = true;`,
    },
    caughtBy: {
      file: 'src/submit/submitter.property.test.ts',
      test: 'is sent at most once, in time, within the limits',
    },
  },
  {
    invariant: 8,
    fault: 'an operation that was answered 500 is queued again',
    edit: {
      file: 'src/submit/send-submission.ts',
      find: "return { state: 'unknown', status, body: text, error, ",
      put: `if (status >= 500) return { state: 'queued', error, retryInMs: KEY_UNSURE_MS };
        return { state: 'unknown', status, body: text, error, `,
    },
    caughtBy: { file: 'src/submit/submission-outcome.test.ts', test: 'leaves the outcome unknown' },
  },
  {
    invariant: 8,
    fault: 'an operation is written though the five seconds of its claim are over',
    edit: {
      file: 'src/submit/send-submission.ts',
      find: 'Math.min(writeBefore, ownsUntil()) && clock.now() < wallBefore',
      put: 'ownsUntil()',
    },
    caughtBy: {
      file: 'src/submit/submitter-sending.test.ts',
      test: 'is no later than the claim allows',
    },
  },
  {
    invariant: 8,
    fault: 'what was queued is sent from a database that was set back',
    edit: {
      file: 'src/db/installation/hold.ts',
      find: "await move(trx, userId, 'queued', 'held');",
      put: '',
    },
    caughtBy: {
      file: 'test/integration/db/installation/held-submissions.test.ts',
      test: 'a hold takes what is queued and nothing else',
    },
  },
  {
    invariant: 9,
    fault: 'a transaction of an owner whose token is not the row’s any more is committed',
    edit: {
      file: 'src/db/ownership/fenced.ts',
      find: ' and token = ${fence.token}',
      put: '',
    },
    caughtBy: {
      file: 'test/integration/db/ownership/lease-accounts.test.ts',
      test: 'writes nothing more under the token of before, though the same process has it again',
    },
  },
  {
    invariant: 9,
    fault: 'a fence looks at the account’s row and does not lock it',
    edit: {
      file: 'src/db/ownership/fenced.ts',
      find: 'for no key update`;',
      put: '`;',
    },
    caughtBy: {
      file: 'test/integration/db/ownership/lease.test.ts',
      test: 'makes a stale owner that waited for the takeover write nothing',
    },
  },
  {
    invariant: 9,
    fault: 'a takeover leaves the token as it was',
    edit: {
      file: 'src/db/ownership/lease.ts',
      find: '(BigInt(account.token) + 1n).toString()',
      put: 'account.token',
    },
    caughtBy: {
      file: 'test/integration/invariants/takeover.test.ts',
      test: 'always raises the token',
    },
  },
  {
    invariant: 9,
    fault: 'a process whose heartbeat is not valid any more goes on',
    edit: {
      file: 'src/app/process/process.ts',
      find: 'if (clock.monotonic() > heartbeat.ownsUntil()) {',
      put: 'if (clock.monotonic() === heartbeat.ownsUntil()) {',
    },
    caughtBy: {
      file: 'test/integration/invariants/one-writer.test.ts',
      test: 'asks the service nothing more, as soon as it can’t say that it lives',
    },
  },
  {
    invariant: 10,
    fault: 'a number beyond 2⁵³ is rounded',
    edit: {
      file: 'src/api/envelope.ts',
      find: "readItem(fields, sources[index] ?? '', ",
      put: 'readItem(fields, JSON.stringify(fields), ',
    },
    caughtBy: {
      file: 'src/api/envelope.test.ts',
      test: 'keeps every digit of an ID, and the item of an unusable one',
    },
  },
  {
    invariant: 10,
    fault: 'one item that can’t be mirrored fails its whole page',
    edit: {
      file: 'src/mirror/create-mirror.ts',
      find: 'else if (mayBeItems(error) && !careful) careful = true;',
      put: '',
    },
    caughtBy: {
      file: 'test/integration/mirror/quarantine/refused-items.test.ts',
      test: 'by a trigger that raises',
    },
  },
  {
    invariant: 10,
    fault: 'an item that can’t be mirrored is left out without a word',
    edit: {
      file: 'src/mirror/quarantine/update-quarantine.ts',
      find: 'if (bad.length === 0 && !some) return [];',
      put: 'if (!some) return [];',
    },
    caughtBy: {
      file: 'test/integration/mirror/quarantine/quarantine.test.ts',
      test: 'has one row for each key, however often its item changes',
    },
  },
  {
    invariant: 10,
    fault: 'a text that `jsonb` can’t hold loses its exact form',
    edit: {
      file: 'src/model/json/jsonb-text.ts',
      find: 'verbatim: raw === source ? undefined : source',
      put: 'verbatim: undefined',
    },
    caughtBy: {
      file: 'src/model/json/jsonb-text.test.ts',
      test: 'replaces U+0000 and lone surrogates, and keeps the verbatim text aside',
    },
  },
];
