import { useEffect, useState } from 'preact/hooks';
import { Mistake, useLive } from '../api.js';
import { type Known, listAllPages } from '../paymasters.js';
import type { Contract } from '../records.js';
import { accountFunctions, gas } from '../refusal/refusal.js';
import { Field, OpenForm } from './form.js';
import { Select } from './parts.js';

/** Loaded where it is needed: it is as large as all the rest. */
const encoding = () => import('ethers/abi');
type Interface = InstanceType<Awaited<ReturnType<typeof encoding>>['Interface']>;

type EthersError = { readonly shortMessage?: string };

/** Any address will do: nothing is signed by it. */
const anAccount = '0x1234567890123456789012345678901234567890';

/** Makes an operation of a call of one of the paymaster's contracts, for people without a wallet. */
export function BuildCall({
  paymaster,
  onBuilt,
}: {
  readonly paymaster: Known;
  readonly onBuilt: (operation: string) => void;
}) {
  const { object } = paymaster;
  const { data: contracts = [] } = useLive(`contracts ${object}`, () => listAllPages('contracts', object));
  const [name, setName] = useState<string>();
  // The first until another one is chosen.
  const contract = contracts.find((each) => each.name === name) ?? contracts[0];
  const abi = contract?.spec.abi;
  const [decoded, setDecoded] = useState<Interface>();
  const [signature, setSignature] = useState('');
  useEffect(() => {
    let isCurrent = true;
    setDecoded(undefined);
    if (abi !== undefined)
      void encoding().then(({ Interface }) => isCurrent && setDecoded(new Interface(abi)));
    return () => void (isCurrent = false);
  }, [abi]);
  if (contract === undefined) return null;
  const methods = decoded === undefined ? [] : listMethods(decoded, contract.spec);
  const method = chooseMethod(methods, signature)?.fragment;
  return (
    <OpenForm
      title="Build one: a call of a contract"
      button="Build"
      send={async ({ sender = '', ...given }) => {
        const { AbiCoder, Interface } = await encoding();
        // The page may still be loading it.
        const read = decoded ?? new Interface(contract.spec.abi);
        const called = chooseMethod(listMethods(read, contract.spec), signature)?.fragment;
        if (called === undefined)
          throw new Error(`“${contract.spec.name}” has no method that changes anything.`);
        const values = called.inputs.map((input, index) => {
          const name = `argument ${index}`;
          const text = given[name] ?? '';
          try {
            const isJson = ['array', 'tuple'].includes(input.baseType) || input.type === 'bool';
            const value: unknown = isJson ? JSON.parse(text) : text;
            AbiCoder.defaultAbiCoder().encode([input], [value]);
            return value;
          } catch (error) {
            const says = `Must be of type ${input.type}, got ${text}: ${(error as EthersError).shortMessage ?? (error as Error).message}`;
            throw new Mistake(says, [{ field: name, says }]);
          }
        });
        const account = new Interface(accountFunctions);
        const call = read.encodeFunctionData(called, values);
        const callData = account.encodeFunctionData('execute', [contract.spec.address, 0, call]);
        onBuilt(JSON.stringify({ sender, nonce: '0x0', initCode: '0x', callData, ...gas }, undefined, 1));
        return 'The operation is above. Its account calls by execute(address,uint256,bytes), as SimpleAccount does.';
      }}
    >
      <Select
        label="Contract"
        value={contract.name}
        choices={contracts.map((each) => [each.name, each.spec.name])}
        onChoose={setName}
      />
      <Select
        label="Method"
        value={method?.format() ?? ''}
        choices={methods.map(({ fragment, isPaid }) => [
          fragment.format(),
          `${fragment.format()}${isPaid ? '' : ': not paid for'}`,
        ])}
        onChoose={setSignature}
      />
      {method?.inputs.map(({ name, type }, index) => (
        <Field
          key={`${method.format()} ${index}`}
          label={`${name || `argument ${index + 1}`}: ${type}`}
          name={`argument ${index}`}
        />
      ))}
      <Field label="Account that calls" name="sender" value={anAccount} pattern="0x[0-9a-fA-F]{40}" />
    </OpenForm>
  );
}

/** Those that a transaction may call, those that are paid for first. */
function listMethods(decoded: Interface, { whitelistedMethods: paid = [] }: Contract['spec']) {
  return decoded.fragments
    .filter((each) => each.type === 'function')
    .map((each) => decoded.getFunction(each.format())!)
    .filter(({ constant }) => !constant)
    .map((each) => ({ fragment: each, isPaid: paid.includes(each.name) || paid.includes(each.format()) }))
    .toSorted((a, b) => Number(b.isPaid) - Number(a.isPaid));
}

function chooseMethod(methods: ReturnType<typeof listMethods>, signature: string) {
  return methods.find(({ fragment }) => fragment.format() === signature) ?? methods[0];
}
