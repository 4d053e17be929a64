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

  it('drops late registrations when it is removed', () => {
    const registration = new Registration('seed');
    registration.register(URL_A, null, { secret: 'new', from: 100 });
    registration.remove();
    expect(registration.at(100)).toBeUndefined();
  });
});
