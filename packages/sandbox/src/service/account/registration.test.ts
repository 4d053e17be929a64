import { describe, expect, it } from 'vitest';
import { Registration } from './registration.ts';

const URL_A = 'https://a.example/';
const URL_B = 'https://b.example/';

describe('a registration', () => {
  it('is in force from its given time on, in the order of the requests', () => {
    const registration = new Registration('seed');
    registration.register(URL_A, null, { secret: 'new', from: 100 });
    registration.register(URL_B, ['list.failed'], { secret: 'new', from: 50 });
    expect(registration.at(99)).toBeUndefined();
    expect(registration.at(100)).toMatchObject({ url: URL_B, eventTypes: ['list.failed'] });
  });

  it('gets a new secret each time, or the one before, even after it was removed', () => {
    const registration = new Registration('seed');
    const secrets = (['new', 'new', 'same'] as const).map(
      (secret) => registration.register(URL_A, null, { secret, from: 0 }).secret,
    );
    expect(secrets[1]).not.toBe(secrets[0]);
    expect(secrets[2]).toBe(secrets[1]);
    registration.remove();
    expect(registration.at(1)).toBeUndefined();
    expect(registration.register(URL_A, null, { secret: 'same', from: 1 }).secret).toBe(secrets[1]);
  });

  it('drops late registrations when it is removed', () => {
    const registration = new Registration('seed');
    registration.register(URL_A, null, { secret: 'new', from: 100 });
    registration.remove();
    expect(registration.at(100)).toBeUndefined();
  });

  it('can get another secret without the user', () => {
    const registration = new Registration('seed');
    expect(registration.rotate(0)).toBe(false);
    const { secret } = registration.register(URL_A, null, { secret: 'new', from: 0 });
    expect(registration.rotate(0)).toBe(true);
    expect(registration.at(0)).toMatchObject({
      url: URL_A,
      secret: expect.not.stringContaining(secret) as string,
    });
  });
});
