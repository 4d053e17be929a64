import { InvalidValue } from '../invalid.ts';
import { Secret } from '../secret.ts';
import { splitList } from './parse-values.ts';

/** A shorter token can be guessed. */
const LEAST_TOKEN_LENGTH = 16;

/** Parses one key, or several separated by commas or line breaks. Messages quote no key. */
export function parseKeys(text: string): readonly Secret[] {
  const keys = [...new Set(splitList(text))];
  if (keys.length === 0) throw new InvalidValue('holds no key');
  for (const [index, key] of keys.entries()) {
    const which = keys.length === 1 ? 'the key' : `key ${index + 1} of ${keys.length}`;
    if (/^bearer\s/i.test(key))
      throw new InvalidValue(`${which} begins with the word Bearer: only the key itself`);
    if (/^(["']).*\1$/.test(key)) throw new InvalidValue(`${which} stands in quotes: leave them out`);
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new InvalidValue(`${which} has blanks or other characters that an HTTP header can't carry`);
    }
  }
  return keys.map((key) => new Secret(key));
}

/** Parses the token that the status page, the API and the metrics ask for. */
export function parseToken(text: string): Secret {
  if (text.length < LEAST_TOKEN_LENGTH) {
    throw new InvalidValue(`is too short: at least ${LEAST_TOKEN_LENGTH} characters`);
  }
  if (!/^[\x21-\x7e]+$/.test(text)) {
    throw new InvalidValue("has blanks or other characters that an HTTP header can't carry");
  }
  return new Secret(text);
}
