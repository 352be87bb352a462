import { expect, test } from '@jest/globals';
import { clockSkew, type ClockSkew } from '../../../core/chain/heads.js';
import type { EpochMs } from '../../../core/units/time.js';

const now = 1_800_000_000_999 as EpochMs;

test.each<{ readonly name: string; readonly aheadSeconds: number; readonly want: ClockSkew }>([
  { name: 'a chain that has made no block for a day is in step', aheadSeconds: -86_400, want: 'InStep' },
  { name: '30 seconds ahead is in step', aheadSeconds: 30, want: 'InStep' },
  { name: '31 seconds ahead is told', aheadSeconds: 31, want: 'Ahead' },
  { name: '120 seconds ahead is told', aheadSeconds: 120, want: 'Ahead' },
  { name: '121 seconds ahead stops signatures', aheadSeconds: 121, want: 'FarAhead' },
])('$name', ({ aheadSeconds, want }) => {
  expect(clockSkew(1_800_000_000 + aheadSeconds, now)).toBe(want);
});
