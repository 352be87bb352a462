import { describe } from '@jest/globals';
import { accountsConformance } from './usage/accounts.js';
import { askingAgainConformance } from './usage/asking-again.js';
import { atOnceConformance } from './usage/at-once.js';
import { chargesConformance } from './usage/charges.js';
import { commitsConformance } from './usage/commits.js';
import { fencesConformance } from './usage/fences.js';
import { budgetsConformance } from './usage/budgets.js';
import { goingOnConformance } from './usage/going-on.js';
import { holdsConformance } from './usage/holds.js';
import { lifetimeConformance } from './usage/lifetime.js';
import { lossConformance } from './usage/loss-of-data.js';
import { orderConformance } from './usage/order.js';
import { promisesConformance } from './usage/promises.js';
import { ratesConformance } from './usage/rates.js';
import { recordsConformance } from './usage/records.js';
import { reservingConformance } from './usage/reserving.js';
import { settlingConformance } from './usage/settling.js';
import { takingBackConformance } from './usage/taking-back.js';
import { takenStepsConformance } from './usage/taken-steps.js';
import { aSuite, type UsageHarness } from './usage/suite.js';

type Create = () => Promise<UsageHarness>;

/** Guarantees of every usage store; see the port. */
export function usageStoreConformance(implementation: string, create: Create): void {
  usagePromisesConformance(implementation, create);
  usageEndingsConformance(implementation, create);
}

/** Of {@link usageStoreConformance}: what is promised, and taken back. */
export function usagePromisesConformance(implementation: string, create: Create): void {
  describe(`usage store on ${implementation}: promises`, () => {
    const suite = aSuite(create);
    reservingConformance(suite);
    askingAgainConformance(suite);
    atOnceConformance(suite);
    goingOnConformance(suite);
    promisesConformance(suite);
    holdsConformance(suite);
    budgetsConformance(suite);
    commitsConformance(suite);
    takingBackConformance(suite);
    fencesConformance(suite);
  });
}

/** Of {@link usageStoreConformance}: what the follower settles, and what outlives a process. */
export function usageEndingsConformance(implementation: string, create: Create): void {
  describe(`usage store on ${implementation}: endings`, () => {
    const suite = aSuite(create);
    settlingConformance(suite);
    ratesConformance(suite);
    takenStepsConformance(suite);
    recordsConformance(suite);
    orderConformance(suite);
    chargesConformance(suite);
    accountsConformance(suite);
    lifetimeConformance(suite);
    lossConformance(suite);
  });
}
