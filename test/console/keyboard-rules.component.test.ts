import { beforeAll } from '@jest/globals';
import { ruleWrites } from './support/rule-writes.js';
import { useKeyboard } from './support/with-keyboard.js';
import { game } from './support/writes.js';

// Every change of rules that the console offers, by somebody who has a keyboard alone, and the page that shows all of them.

const { create, follows, isAccessible, movesNothing } = useKeyboard('keyboard-rules');
const spec = {
  name: 'Keys',
  chainId: 31337,
  type: 'HYBRID',
  version: '1.1.0',
  defaultContractAction: 'Deny',
};
beforeAll(() => create('paymasters', 'keys', spec));

follows(ruleWrites);
isAccessible([game]);
movesNothing([game]);
