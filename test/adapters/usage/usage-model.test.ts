import { describe } from '@jest/globals';
import { accountsConformance } from '../../conformance/usage/accounts.js';
import { askingAgainConformance } from '../../conformance/usage/asking-again.js';
import { chargesConformance } from '../../conformance/usage/charges.js';
import { fencesConformance } from '../../conformance/usage/fences.js';
import { holdsConformance } from '../../conformance/usage/holds.js';
import { promisesConformance } from '../../conformance/usage/promises.js';
import { recordsConformance } from '../../conformance/usage/records.js';
import { reservingConformance } from '../../conformance/usage/reserving.js';
import { settlingConformance } from '../../conformance/usage/settling.js';
import { aSuite, type TestedStore, type UsageHarness } from '../../conformance/usage/suite.js';
import { chainId } from '../../conformance/usage-requests.js';
import { aClock } from './clock.js';
import { UsageModel } from './usage-model.js';

/** The model loses nothing and keeps no messages: subjects that need a store's files are left out. */
describe('the model of usage stores', () => {
  const suite = aSuite(async (): Promise<UsageHarness> => {
    const clock = aClock();
    let model = new UsageModel(clock);
    const replaced = async () => {
      model = model.reopened();
      return tested(model);
    };
    return {
      store: tested(model),
      clock,
      reopen: replaced,
      wipe: async () => tested(new UsageModel(clock)),
      mirrored: async () => {},
      takeCopy: async () => {},
      putCopyBack: replaced,
      takeRecords: async () => model.takeRecords(chainId),
      stop: async () => {},
    };
  });
  reservingConformance(suite);
  askingAgainConformance(suite);
  promisesConformance(suite);
  holdsConformance(suite);
  fencesConformance(suite);
  settlingConformance(suite);
  recordsConformance(suite);
  chargesConformance(suite);
  accountsConformance(suite);
});

function tested(model: UsageModel): TestedStore {
  const noMessages = {
    putText: async () => {},
    addText: async () => false,
    getText: async () => undefined,
    getTexts: async () => new Map<string, string>(),
    takeText: async () => false,
    recovery: { recover: async () => 'intact' as const },
  };
  return Object.assign(model, noMessages);
}
