import { quote, serviceMessage } from '../../api/service-message.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import { webhookStore } from '../../db/webhook/webhook-store.ts';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import type { Companion } from '../../sync/loops/account-service.ts';
import { hintDispatcher } from '../../sync/hints/hint-dispatcher.ts';
import { createHintStore } from '../../sync/hints/account-hints.ts';
import { readingBudget } from '../../sync/hints/reading-budget.ts';
import { registrar } from '../../webhooks/registration/registrar.ts';
import { stateClass } from '../../model/row-state.ts';
import type { OpenAccount, RunnerContext } from './open-account.ts';
import { submitLoop } from './submit-loop.ts';

/** What an account does beside its schedule: reads what events named, sends submissions, keeps its webhook. */
export interface AccountCompanions {
  readonly loops: readonly Companion[];
  /** Each is rung when its loop has something to do. */
  readonly bells: {
    readonly hints: Doorbell;
    readonly submissions: Doorbell;
    readonly registration: Doorbell;
    /** Heard when the account is tidied. */
    readonly filling: Doorbell;
  };
}

export function accountCompanions(context: RunnerContext, account: OpenAccount): AccountCompanions {
  const { failures, link, config } = context;
  const { fence, reader, source } = account;
  const dispatcher = hintDispatcher({
    reader,
    store: createHintStore(context.db, fence),
    collections: config.collections,
    budget: readingBudget(source),
    gracePeriodMs: config.gracePeriodMs,
    onFailure: (what, error) =>
      failures.failed(`${fence.userId}: ${what}`, `account ${fence.userId}: ${what}`, error),
    clock: link.clock,
    random: link.random,
  });
  const submissions = new Doorbell();
  const registration = new Doorbell();
  return {
    loops: [
      dispatcher.loop,
      submitLoop(account, context, { bell: submissions }),
      registrationLoop(context, account, registration),
    ],
    bells: { hints: dispatcher.bell, submissions, registration, filling: new Doorbell() },
  };
}

function registrationLoop(
  { config, db, link, log, hide, onChanged, onRegistration, whyAstray }: RunnerContext,
  { fence, source }: OpenAccount,
  bell: Doorbell,
): Companion {
  const { publicUrl, takeover } = config.webhook;
  // Nobody waits for it. With a high priority it would take slots from a first load, before any event comes.
  const priority = PRIORITY.POLL;
  let refusedBy: string | undefined;
  return registrar({
    userId: fence.userId,
    publicUrl,
    takeover,
    service: {
      ask: async (request) => {
        const answer = await source.once({ ...request, priority });
        refusedBy = answer?.keyHash;
        return answer;
      },
      keyIsGood: async (stop) =>
        refusedBy === undefined || source.isGood(refusedBy, { signal: new AbortController().signal, stop }),
      said: (text) => quote(serviceMessage(text), link.scrub),
    },
    store: webhookStore({ db, fence, onChanged, isFinished: (state) => stateClass(state) !== 'open' }),
    clock: link.clock,
    log,
    hide,
    bell,
    whyAstray,
    onChange: onRegistration,
  });
}
