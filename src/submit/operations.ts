import { rateGroup, type RateGroup } from '../budget/rate-groups.ts';
import type { OperationName } from '../model/submission.ts';

/** A POST operation of the service (specification 4.4). */
export interface Operation {
  /** Path with `{id}` for the target, as limits and metrics name it. */
  readonly route: string;
  /** @param target ID of what it is carried out on; ignored where the operation has no target */
  readonly path: (target: string | null) => string;
  /** The rate limit in which it counts (specification 8.2). */
  readonly group: RateGroup;
}

/** Every operation that can be submitted. */
export const OPERATIONS: Readonly<Record<OperationName, Operation>> = {
  research: operation('/v1/research'),
  enrich: operation('/v1/enrich'),
  clay_enrich: operation('/v1/clay/enrich'),
  bulk_research: operation('/v1/research/bulk'),
  list: operation('/v1/lists'),
  list_analyze: operation('/v1/lists/{id}/analyze'),
  sequence: operation('/v1/research/{id}/sequence'),
};

function operation(route: string): Operation {
  return {
    route,
    path: (target) => route.replace('{id}', () => encodeURIComponent(target ?? '')),
    group: rateGroup('POST', route),
  };
}
