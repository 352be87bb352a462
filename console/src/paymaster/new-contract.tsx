import { useContext, useRef, useState } from 'preact/hooks';
import { useLive } from '../api.js';
import { FormContext, useEntered, type Values } from '../parts/form-facts.js';
import { Boxes, Field, Labelled, OpenForm } from '../parts/form.js';
import { type Choice, Note, Select } from '../parts/parts.js';
import { type Known, listAllPages } from '../paymasters.js';
import { choose, route } from '../route.js';
import { create, objectName } from './create-object.js';

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
      send={async (values) => {
        const contract = composeContract(paymaster.object, values);
        await create(contract);
        return `Calls of ${contract.spec.whitelistedMethods.join(', ') || 'no method'} are paid for.`;
      }}
    >
      <ContractFields register={register} />
    </OpenForm>
  );
}

/** Of what {@link ContractFields} send. */
export function composeContract(paymaster: string, values: Values) {
  const { name = '', address, abi } = values;
  const whitelistedMethods = checkedMethods(values);
  const spec = { paymasterRef: { name: paymaster }, name, address, abi, whitelistedMethods };
  return { noun: 'contracts', object: objectName(`${paymaster}-${name}`), spec } as const;
}

/** A file of a compiler has every contract of a project; more would stop the page. */
const maxFileBytes = 20_000_000;

export function ContractFields({ register }: { readonly register?: string | undefined }) {
  const [abi, setAbi] = useState(useEntered('abi') ?? '');
  const [from, setFrom] = useState('');
  const [found, setFound] = useState<readonly Compiled[]>([]);
  const [fault, setFault] = useState<string>();
  const area = useRef<HTMLTextAreaElement>(null);
  const { data: all = [] } = useLive('contracts', () => listAllPages('contracts'));
  const others = [...new Map(all.map(({ spec }) => [spec.address.toLowerCase(), spec])).values()];

  /** As somebody would type it. */
  const fill = (name: string, text: string, isOver: boolean): void => {
    const control = area.current?.form?.elements.namedItem(name);
    const isControl = control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement;
    if (!isControl || text === '' || (control.value !== '' && !isOver)) return;
    control.value = text;
    control.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const take = ({ abi: text, name, address }: Compiled, isOver: boolean): void => {
    fill('abi', text, true);
    fill('name', name, isOver);
    fill('address', address, isOver);
  };
  const read = (text: string, name = ''): void => {
    const contracts = contractsIn(text, name);
    const [first] = contracts;
    setFault(undefined);
    // An ABI stays as it was pasted, and so does what the server will refuse.
    const isAbi = first === undefined || text.trim().startsWith('[');
    setAbi(isAbi ? text : first.abi);
    setFound((last) => (!isAbi ? contracts : last.some((each) => each.abi === text) ? last : []));
    if (!isAbi) take(first, false);
  };
  const load = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    if (file.size > maxFileBytes) return setFault('Must be smaller than 20 MB');
    const text = await file.text();
    const name = file.name.replace(/\.json$/, '');
    if (contractsIn(text, name).length === 0) return setFault('Must be a file with an ABI in it');
    read(text, name);
  };
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
            const one = others.find((each) => each.address === address);
            if (one !== undefined) take(one, true);
          }}
        />
      )}
      <Field label="Name" name="name" />
      <Field label="Address" name="address" value={register ?? ''} pattern="0x[0-9a-fA-F]{40}" />
      <Labelled label="A file of Hardhat, Foundry or solc, instead of pasting" says={fault} isWide>
        {(state) => (
          <input
            type="file"
            accept=".json,application/json"
            onChange={({ currentTarget }) => void load(currentTarget.files?.[0])}
            {...state}
          />
        )}
      </Labelled>
      {found.length > 1 && (
        <Select
          label="Contract in the file"
          value={String(found.findIndex((each) => each.abi === abi))}
          choices={found.map(({ name }, index): Choice => [String(index), name])}
          onChoose={(index) => take(found[Number(index)]!, true)}
        />
      )}
      <Labelled label="ABI, as JSON" name="abi" isWide>
        {(state) => (
          <textarea
            ref={area}
            name="abi"
            required
            spellcheck={false}
            value={abi}
            onInput={(event) => read(event.currentTarget.value)}
            {...state}
          />
        )}
      </Labelled>
      <MethodChoices methods={listMethods(abi)} empty="Give the ABI first." />
    </>
  );
}

/** A contract as a compiler describes it. `abi` is JSON. */
type Compiled = { readonly name: string; readonly address: string; readonly abi: string };

/** How deep files of compilers nest a contract, at most: `output.contracts["File.sol"].Name`. */
const deepest = 4;

/**
 * The contracts in a text that is JSON: an ABI itself, or a file of Hardhat, Foundry, Truffle or solc. `name`: of those that the text
 * does not name. Without an ABI: none.
 */
function contractsIn(text: string, name = ''): readonly Compiled[] {
  try {
    return within(JSON.parse(text), name, deepest);
  } catch {
    return [];
  }
}

function within(value: unknown, name: string, levels: number): readonly Compiled[] {
  if (Array.isArray(value)) return [{ name, address: '', abi: JSON.stringify(value) }];
  const { abi, contractName, address, ...members } = Object(value) as Readonly<Record<string, unknown>>;
  if (Array.isArray(abi)) {
    const text = (one: unknown, other: string) => (typeof one === 'string' ? one : other);
    return [{ name: text(contractName, name), address: text(address, ''), abi: JSON.stringify(abi) }];
  }
  if (levels === 0) return [];
  return (
    Object.entries(members)
      .filter(([, each]) => typeof each === 'object' && !Array.isArray(each))
      // `File.sol:Name` in some of them.
      .flatMap(([key, each]) => within(each, key.split(':').at(-1) ?? key, levels - 1))
      .filter(({ abi: found }) => listMethods(found).length > 0)
  );
}

/** Those that a transaction may call. The server judges the ABI; this lists what there is to choose. */
export function listMethods(abi: string): readonly string[] {
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

/** In front of the name of a method, in names of controls. */
const method = 'method ';

export function MethodChoices({
  methods,
  checked = [],
  empty,
}: {
  readonly methods: readonly string[];
  readonly checked?: readonly string[];
  readonly empty: string;
}) {
  const { entered } = useContext(FormContext);
  const present = [...checked, ...checkedMethods(entered)];
  return (
    <Boxes legend="Methods to pay for" name="whitelistedMethods">
      {methods.length === 0 && <span class="quiet">{empty}</span>}
      {methods.map((each) => (
        <label key={each}>
          <input type="checkbox" name={method + each} defaultChecked={present.includes(each)} /> {each}
        </label>
      ))}
    </Boxes>
  );
}

/** Those of {@link MethodChoices} in what a form sends. */
export function checkedMethods(values: Values): readonly string[] {
  return Object.keys(values)
    .filter((key) => key.startsWith(method))
    .map((key) => key.slice(method.length));
}
