import { fieldSource } from '../../model/json/json-text.ts';
import { valueKind } from './column-value.ts';

const DECIMAL = /^[+-]?\d{1,1000}(?:\.\d{1,1000})?(?:[eE][+-]?\d{1,3})?$/;
const AMOUNT_FIELDS = ['balance', 'amount', 'remaining', 'credits', 'value'] as const;
const CENTS = /^cents?$/i;

/**
 * The account's remaining credits as an exact decimal, whatever shape the service gives them: a number, a string
 * with one, `{balance, unit}`, or whole cents where the unit or the field's name (`balance_cents`) says so.
 * @param source the JSON text of the field `credits`
 * @returns a decimal that PostgreSQL's numeric reads; null for null; undefined for a shape that does not fit
 */
export function creditsText(source: string): string | null | undefined {
  const kind = valueKind(source);
  if (kind === 'null') return null;
  if (kind === 'number') return decimal(source);
  if (kind === 'string') return decimal((JSON.parse(source) as string).trim());
  return kind === 'structure' ? fromObject(source) : undefined;
}

function fromObject(source: string): string | null | undefined {
  for (const field of AMOUNT_FIELDS) {
    const cents = fieldSource(source, `${field}_cents`);
    const amount = cents ?? fieldSource(source, field);
    if (amount === undefined || valueKind(amount) === 'structure') continue;
    const text = creditsText(amount);
    if (typeof text !== 'string') return text;
    const unit = fieldSource(source, 'unit') ?? 'null';
    const inCents =
      cents !== undefined || (valueKind(unit) === 'string' && CENTS.test(JSON.parse(unit) as string));
    return inCents ? hundredth(text) : text;
  }
  return undefined;
}

function decimal(text: string): string | undefined {
  return DECIMAL.test(text) ? text : undefined;
}

/** A decimal divided by a hundred: the exponent is two less, every digit stays. */
function hundredth(text: string): string {
  const [mantissa = '', exponent = '0'] = text.split(/[eE]/);
  return `${mantissa}e${Number(exponent) - 2}`;
}
