import { boolean, list, object, text, type Infer } from '../schema/structural.js';
import { maxSignatureLength } from './abi-signature.js';
import { maxFunctions, maxNameLength } from './abi.js';
import type { Resource } from '../meta/meta.js';
import {
  address,
  activeColumn,
  activeStatus,
  column,
  displayName,
  paymasterRef,
  paymasterColumn,
  foundStatus,
} from '../meta/schema-parts.js';

/** Longest ABI text. The API server limits objects to 1.5 MiB, and a list of contracts should stay readable. */
export const maxAbiLength = 196_608;

export const methodName = (description: string) =>
  text(description, {
    minLength: 1,
    maxLength: maxSignatureLength,
    pattern: '^[A-Za-z_$][^\\x00-\\x1f\\x7f]*$',
    expected: 'a method name such as "mint", or a full signature such as "mint(address)"',
  });

const spec = object('What the owner wants.', {
  required: {
    paymasterRef: paymasterRef('The Paymaster that sponsors calls to this contract. Never changes.'),
    name: displayName('Name of the contract, unique per Paymaster, e.g. counter.'),
    address: address(
      'Address of the contract, unique per Paymaster, e.g. 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913. Never changes.',
      {
        rule: 'self.lowerAscii() == oldSelf.lowerAscii()',
        message: 'must be left as it was: delete this SmartContract and create another',
      },
    ),
    abi: text(
      'ABI of the contract as JSON text, at most 196608 characters, e.g. \'[{"type":"function","name":"mint","inputs":[],"outputs":[],"stateMutability":"nonpayable"}]\'.',
      {
        minLength: 2,
        maxLength: maxAbiLength,
        expected: `the ABI as JSON text of 2 to ${maxAbiLength} characters`,
      },
    ),
  },
  optional: {
    active: boolean('False pauses the contract: its methods are not sponsored. Absent means active.'),
    whitelistedMethods: list(
      'Methods that are sponsored: a name stands for all its overloads, a signature for one. Tuples may nest to 16 levels, arrays have 16 dimensions. E.g. [mint, "transfer(address,uint256)"]. Absent means none yet.',
      methodName(
        'Name or signature of a method of the ABI, e.g. mint, or mint(address,uint256) where several have the name.',
      ),
      { maxItems: 1000 },
    ),
  },
});

const status = foundStatus({
  active: activeStatus,
  methods: list(
    "Names of the ABI's state-changing functions, each once, in ABI order.",
    text('Name of a method.', { maxLength: maxNameLength }),
    { maxItems: maxFunctions },
  ),
  selectors: list(
    'Selectors that the whitelisted methods stand for.',
    text('0x and 8 hex digits.', { maxLength: 10 }),
    { maxItems: maxFunctions },
  ),
});

export type SmartContractSpec = Infer<typeof spec>;
export type SmartContractStatus = Infer<typeof status>;
export type SmartContract = Resource<'SmartContract', SmartContractSpec, SmartContractStatus>;

export const smartContractKind = {
  description: 'A contract whose whitelisted methods a Paymaster sponsors.',
  spec,
  status,
  printerColumns: [
    paymasterColumn,
    column('Name', 'string', '.spec.name', 'Name of the contract.'),
    column('Address', 'string', '.spec.address', 'Address of the contract.'),
    { ...activeColumn, priority: 1 },
  ],
  selectableFields: ['spec.name', 'spec.address', 'spec.paymasterRef.name'],
} as const;
