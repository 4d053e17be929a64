import { expect, it } from 'vitest';
import { FirstContact } from './first-contact.ts';

const acceptedTimes = (contact: FirstContact, times: number): boolean[] =>
  Array.from({ length: times }, () => contact.accepted());

it('ends with the tenth request in a row that was accepted, which is reported once, and begins again with a refusal', () => {
  const contact = new FirstContact(true);
  expect(contact.mostInFlight).toBe(Infinity);
  contact.refused();
  acceptedTimes(contact, 5);
  contact.refused();
  expect(acceptedTimes(contact, 9)).not.toContain(true);
  expect([contact.proven, contact.mostInFlight]).toEqual([false, 4]);
  // What is reported is stored: not with each answer.
  expect(acceptedTimes(contact, 3)).toEqual([true, false, false]);
  expect([contact.proven, contact.mostInFlight]).toEqual([true, Infinity]);
});
