import { expect, test } from '@jest/globals';
import type { Condition, ConditionStatus } from '../../core/meta/meta.js';
import { listTransitions } from '../../operator/reconcilers/announcer.js';
import { aPaymaster } from '../build/resources.js';

const condition = (type: string, status: ConditionStatus, reason: string): Condition => ({
  type,
  status,
  reason,
  message: `${reason}.`,
  observedGeneration: 1,
  lastTransitionTime: '2026-01-01T00:00:00.000Z',
});

const accepted = condition('Accepted', 'True', 'Accepted');
const refused = condition('Accepted', 'False', 'NameConflict');
const ready = condition('Ready', 'True', 'Ready');
const open = condition('OpenSponsorship', 'True', 'NoContracts');
const closed = condition('OpenSponsorship', 'False', 'ContractsRegistered');

test.each([
  {
    name: 'what is good from the beginning is not news, but that it is ready',
    before: [],
    after: [accepted, ready],
    want: ['Normal Ready'],
  },
  {
    name: 'what is wrong from the beginning is a warning',
    before: [],
    after: [refused],
    want: ['Warning NameConflict'],
  },
  { name: 'a recovery is told', before: [refused], after: [accepted], want: ['Normal Accepted'] },
  {
    name: 'what breaks is a warning',
    before: [accepted, ready],
    after: [refused, ready],
    want: ['Warning NameConflict'],
  },
  { name: 'nothing is told twice', before: [refused, ready], after: [refused, ready], want: [] },
  {
    name: 'an open paymaster is a warning although its condition is True',
    before: [closed],
    after: [open],
    want: ['Warning NoContracts'],
  },
  {
    name: 'so is a cap that has no effect',
    before: [],
    after: [condition('CapsLimited', 'True', 'WiderThanPlatform')],
    want: ['Warning WiderThanPlatform'],
  },
  {
    name: 'what is not known yet is not told',
    before: [],
    after: [condition('Funded', 'Unknown', 'Unknown')],
    want: [],
  },
])('$name', ({ before, after, want }) => {
  const told = listTransitions(aPaymaster(), before, after);
  expect(told.map(({ event }) => `${event.type} ${event.reason}`)).toEqual(want);
});
