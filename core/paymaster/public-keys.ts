import { toAddressKey, type AddressKey } from '../units/address.js';
import type { Signers } from './signer.js';

/** Chains whose coins are worth nothing. On any other one a key that everybody knows gives the deposit away. */
const testChains: ReadonlySet<number> = new Set([
  1337, // Ganache
  31_337, // anvil, Hardhat
  11_155_111, // Sepolia
  560_048, // Hoodi
  84_532, // Base Sepolia
  11_155_420, // OP Sepolia
  421_614, // Arbitrum Sepolia
  1301, // Unichain Sepolia
  80_002, // Polygon Amoy
  43_113, // Avalanche Fuji
  97, // BNB testnet
]);

/** The twenty accounts of "test test … junk", which anvil and Hardhat print at every start. */
const publicKeys: ReadonlySet<AddressKey> = new Set(
  [
    '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
    '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
    '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc',
    '0x976EA74026E726554dB657fA54763abd0C3a0aa9',
    '0x14dC79964da2C08b23698B3D3cc7Ca32193d9955',
    '0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f',
    '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
    '0xBcd4042DE499D14e55001CcbB24a551F3b954096',
    '0x71bE63f3384f5fb98995898A86B02Fb2426c5788',
    '0xFABB0ac9d68B0B445fB7357272Ff202C5651694a',
    '0x1CBd3b2770909D4e10f157cABC84C7264073C9Ec',
    '0xdF3e18d64BC6A983f673Ab319CCaE4f1a57C7097',
    '0xcd3B766CCDd6AE721141F452C550Ca635964ce71',
    '0x2546BcD3c84621e976D8185a91A922aE77ECEc30',
    '0xbDA5747bFD65F08deb54cb465eB87D40e51B197E',
    '0xdD2FD4581271e230360230F9337D5c0430Bf44C0',
    '0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199',
  ].map((address) => toAddressKey(address as `0x${string}`)),
);

/** The signers as a chain may use them: without keys that everybody knows, and with the reason. */
export function signersOn<S extends Pick<Signers, 'get' | 'problem'>>(signers: S, chainId: number): S {
  if (testChains.has(chainId)) return signers;
  const isUsable = (file: string): boolean => {
    const signer = signers.get(file);
    return signer === undefined || !publicKeys.has(toAddressKey(signer.address));
  };
  return {
    ...signers,
    get: (file) => (isUsable(file) ? signers.get(file) : undefined),
    problem: (file) =>
      isUsable(file)
        ? signers.problem?.(file)
        : `"${file}" is the development key of ${signers.get(file)?.address}, which everybody knows, and chain ${chainId} is not a known test chain: make a key of your own`,
  };
}
