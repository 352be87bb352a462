import { toAddressKey, zeroAddress } from '../../units/address.js';
import { given } from '../../units/given.js';
import { noCost } from '../../usage/unit.js';
import { formatAmount, unitOf } from '../../usage/units.js';
import { never } from '../../usage/window.js';
import type { Glance, GlanceAt } from '../kind.js';
import { glanceOf } from '../modes.js';
import { limitShares, type CompiledLimit } from './shares.js';

/** What is used and promised of a limit, whether the request fits in, and when the count begins again. */
export function glanceOfLimit(limit: CompiledLimit, { now, facts, used, ...at }: GlanceAt): Glance {
  const { unit, threshold, perSender, isBudget } = limit;
  const sender = at.sender ?? facts?.op.sender;
  const [share] = limitShares([limit], {
    sender: sender ?? toAddressKey(zeroAddress),
    cost: noCost,
    now,
  });
  const turnsAt = share === undefined || share.window.until === never ? undefined : share.window.until;
  const whose = perSender ? (sender === undefined ? ' for each account' : ` for ${sender}`) : '';
  const budget = isBudget === true ? ', the budget of the Organisation' : '';
  const most = `${formatAmount(unit, threshold)}${whose}${budget}`;
  // What other accounts have used says nothing about this one.
  const counter = share === undefined || (perSender && sender === undefined) ? undefined : used?.(share);
  if (counter === undefined) return glanceOf(limit, { says: `at most ${most}`, ...given({ turnsAt }) });
  const left = Math.max(0, threshold - counter.used - counter.reserved);
  const needs =
    facts?.mode === 'SPONSORED' && facts.cost !== undefined ? unitOf(unit).take(facts.cost)?.cost : undefined;
  const need = needs === undefined ? '' : `, this operation needs ${formatAmount(unit, needs)}`;
  const isOver = needs === undefined ? left === 0 : needs > left;
  return glanceOf(limit, {
    says: `${formatAmount(unit, counter.used)} used and ${formatAmount(unit, counter.reserved)} promised of ${most}${need}`,
    ...(isOver ? { verdict: 'refuse' } : needs === undefined ? {} : { verdict: 'pass' }),
    remaining: formatAmount(unit, left),
    ...given({ turnsAt }),
  });
}
