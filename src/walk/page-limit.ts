/** `limit` of list requests (specification 8.1): 500; where that is refused 100, then none; remembered per scope. */
export interface PageLimit {
  /** Null: the parameter is left out, and the service's default applies. */
  readonly value: number | null;
  /** A page came with this limit: a refusal means something else. */
  readonly proven: boolean;
}

const LADDER = [500, 100, null] as const;

/** The next limit to try after `refused`; undefined when there is none. */
export function lowerLimit(refused: number | null): number | null | undefined {
  return LADDER[LADDER.findIndex((limit) => limit === refused) + 1];
}

/** Items of a full page under `limit`: the service's default without one (specification 8.1). */
export function itemsOfFullPage(limit: number | null): number {
  return limit ?? 100;
}
