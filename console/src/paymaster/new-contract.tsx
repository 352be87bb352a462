import { useState } from 'preact/hooks';
import { useLive } from '../live.js';
import { Field, Labelled, OpenForm } from '../parts/form.js';
import { Note, Select, type Choice } from '../parts/parts.js';
import { listOf, type Known } from '../paymasters.js';
import { choose, route } from '../route.js';
import { create, objectName } from './create-object.js';
import { checkedMethods, MethodChoices } from './method-choices.js';

/** Registers a contract by its ABI. A page that leads here may say which address. */
export function NewContract({
  paymaster,
  onDone,
}: {
  readonly paymaster: Known;
  readonly onDone: () => void;
}) {
  const { register } = route.value.query;
  return (
    <OpenForm
      key={register}
      title="Register a contract"
      isEmptied
      {...(register !== undefined && { onClose: () => choose({ register: undefined }) })}
      onDone={onDone}
      send={async ({ name = '', address, abi, ...chosen }) => {
        const whitelistedMethods = checkedMethods(chosen);
        const spec = { paymasterRef: { name: paymaster.object }, name, address, abi, whitelistedMethods };
        await create('contracts', objectName(`${paymaster.object}-${name}`), spec);
        return `Calls of ${whitelistedMethods.join(', ') || 'no method'} are paid for.`;
      }}
    >
      <ContractFields register={register} />
    </OpenForm>
  );
}

function ContractFields({ register }: { readonly register: string | undefined }) {
  const [abi, setAbi] = useState('');
  const [from, setFrom] = useState('');
  const methods = methodsOf(abi);
  const { data: all = [] } = useLive('contracts', () => listOf('contracts'));
  const others = [...new Map(all.map(({ spec }) => [spec.address.toLowerCase(), spec])).values()];
  const like = others.find(({ address }) => address === from);
  return (
    <>
      {register !== undefined && (
        <div class="wide">
          <Note kind="warn">
            The link that led here filled in the address: check that it is your contract.
          </Note>
        </div>
      )}
      {others.length > 0 && (
        <Select
          label="Copy a registered one"
          value={from}
          choices={[['', 'none'], ...others.map((one): Choice => [one.address, one.name])]}
          onChoose={(address) => {
            setFrom(address);
            setAbi(others.find((one) => one.address === address)?.abi ?? '');
          }}
        />
      )}
      <Field key={`name ${from}`} label="Name" name="name" value={like?.name ?? ''} />
      <Field
        key={`address ${from}`}
        label="Address"
        name="address"
        value={from || (register ?? '')}
        pattern="0x[0-9a-fA-F]{40}"
      />
      <Labelled label="ABI, as JSON" name="abi" isWide>
        {(state) => (
          <textarea
            name="abi"
            required
            spellcheck={false}
            value={abi}
            onInput={(event) => setAbi(event.currentTarget.value)}
            {...state}
          />
        )}
      </Labelled>
      <MethodChoices methods={methods} empty="Paste the ABI first." />
    </>
  );
}

/** Those that a transaction may call. The server judges the ABI; this lists what there is to choose. */
function methodsOf(abi: string): readonly string[] {
  try {
    const entries = JSON.parse(abi) as readonly { type?: string; name?: string; stateMutability?: string }[];
    const names = entries.flatMap(({ type, name, stateMutability = '' }) =>
      type === 'function' && name !== undefined && !['view', 'pure'].includes(stateMutability) ? [name] : [],
    );
    return [...new Set(names)];
  } catch {
    return [];
  }
}
