import { describe, expect, it } from 'vitest';
import type { DeliveryRecord } from '@research-mirror/sandbox/deliveries/delivery-queue';
import { type EventRow, judge } from './judge.ts';

const attempt = (rest: Partial<DeliveryRecord> = {}): DeliveryRecord => ({
  number: 1,
  eventId: 'evt_1',
  type: 'research.completed',
  userId: 1001,
  url: '',
  at: 0,
  status: 200,
  attempt: 1,
  forged: false,
  duplicate: false,
  latencyMs: 1,
  ...rest,
});
const row = (rest: Partial<EventRow> = {}): EventRow => ({
  id: 'evt_1',
  type: 'research.completed',
  receivedAt: '',
  ...rest,
});
const kinds = (...args: Parameters<typeof judge>): string[] => judge(...args).map(({ kind }) => kind);

describe('the judge of deliveries', () => {
  it('has nothing against what was taken and is stored, however often it was tried', () => {
    const attempts = [attempt({ status: null }), attempt({ status: 503 }), attempt(), attempt()];
    expect(judge([row()], attempts)).toEqual([]);
  });

  it('has nothing against an event that is stored, and whose answer was lost or that it was not needed for', () => {
    expect(judge([row()], [attempt({ status: null })])).toEqual([]);
    expect(judge([], [attempt({ status: null }), attempt({ status: 503 })])).toEqual([]);
  });

  it('finds what was taken and is not stored', () => {
    expect(kinds([], [attempt()])).toEqual(['lost']);
  });

  it('finds a true event that was refused for good', () => {
    expect(kinds([], [attempt({ status: 400 })])).toEqual(['claim']);
  });

  it('finds what is stored and was never sent, or is another, or is there twice', () => {
    expect(kinds([row()], [])).toEqual(['false']);
    expect(kinds([row({ type: 'bulk.failed' })], [attempt()])).toEqual(['false']);
    expect(kinds([row(), row()], [attempt()])).toEqual(['twice']);
  });

  it('finds forged ones that were taken or stored', () => {
    const forged = { eventId: 'evt_2', forged: true };
    expect(judge([], [attempt({ ...forged, status: 400 })])).toEqual([]);
    expect(kinds([], [attempt(forged)])).toEqual(['false']);
    expect(kinds([row({ id: 'evt_2' })], [attempt({ ...forged, status: 400 })])).toEqual(['false', 'false']);
  });
});
