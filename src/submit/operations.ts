import type { OperationName } from '../model/submission.ts';

/**
 * Every operation that can be submitted (specification 4.4): the path of its POST with `{id}` for the target, as limits
 * and metrics name it.
 */
export const OPERATIONS: Readonly<Record<OperationName, string>> = {
  research: '/v1/research',
  enrich: '/v1/enrich',
  clay_enrich: '/v1/clay/enrich',
  bulk_research: '/v1/research/bulk',
  list: '/v1/lists',
  list_analyze: '/v1/lists/{id}/analyze',
  sequence: '/v1/research/{id}/sequence',
};

/** @param target ID of what it is carried out on; ignored where the operation has no target */
export function operationPath(operation: OperationName, target: string | null): string {
  return OPERATIONS[operation].replace('{id}', () => encodeURIComponent(target ?? ''));
}
