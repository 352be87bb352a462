import { chainId, displayName, enforcement, instant } from '../meta/schema-parts.js';
import { object, text, type Infer } from '../schema/structural.js';
import { cycleFields, oneCycle } from './spending-limit/schema.js';
import { amountIn } from './spending-limit/threshold.js';

const dollars = amountIn('USD');

/** Bounds what all paymasters of the organisation sponsor on one chain together. */
export const budget = object(
  'A budget. It counts what is promised and spent in mode SPONSORED; the operations of one paymaster that are not mined yet hold at most a quarter of it.',
  {
    required: {
      name: displayName(
        'Name that tenants see, e.g. month. Its count goes on while the name stays; with cycleDuration it begins anew when usd or the duration is edited.',
      ),
      chain: chainId('Chain id, e.g. 8453. A budget is of one chain.'),
      usd: text('US dollars in quotes, e.g. "500". Zero refuses everything.', dollars),
    },
    optional: {
      ...cycleFields,
      enforcement: enforcement('Shadow counts and never refuses. Default Enforce.'),
      restartedAt: instant(
        'Another time than before starts the count anew once it has come, e.g. after the usage store has lost its data.',
      ),
      assumeUsed: text(
        'Of an endless budget: how many US dollars of it count as used since restartedAt, e.g. "120.5".',
        dollars,
      ),
    },
  },
  oneCycle,
  {
    rule: '(has(self.never) && has(self.restartedAt)) || !has(self.assumeUsed)',
    message: 'must be left out without never and restartedAt',
    fieldPath: '.assumeUsed',
  },
);

export type Budget = Infer<typeof budget>;
