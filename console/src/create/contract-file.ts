/** A contract as a compiler describes it. `abi` is JSON. */
export type Compiled = { readonly name: string; readonly address: string; readonly abi: string };

/** So deep is a contract in the largest file of a compiler: `output.contracts["File.sol"].Name`. */
const deepest = 4;

/**
 * The contracts in a text that is JSON: an ABI itself, or a file of Hardhat, Foundry, Truffle or solc. `name`: of those that the text
 * does not name. Without an ABI: none.
 */
export function contractsIn(text: string, name = ''): readonly Compiled[] {
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
      .filter(({ abi: found }) => methodsOf(found).length > 0)
  );
}

/** Those that a transaction may call. The server judges the ABI; this lists what there is to choose. */
export function methodsOf(abi: string): readonly string[] {
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
