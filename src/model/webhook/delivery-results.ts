/** What became of a request to the webhook's listener: labels of a metric (docs/operations.md, "Is it healthy"). */
export const DELIVERY_RESULTS = [
  'stored',
  'known',
  'bad_signature',
  'no_account',
  'bad_request',
  'too_large',
  'not_now',
] as const;
export type DeliveryResult = (typeof DELIVERY_RESULTS)[number];
