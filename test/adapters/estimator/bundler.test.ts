import { expect, test } from '@jest/globals';
import { estimateByBundler, type Bundler } from '../../../adapters/estimator/estimator.js';
import { entryPoint09 } from '../../../core/entry-point/v09.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { someChainId } from '../../build/configs.js';
import { anOperation } from '../../build/operations.js';
import { defaultLimits } from '../../build/default-limits.js';

test.each(['0x7702', '0x7702000000000000000000000000000000000000'])(
  'a bundler gets the EIP-7702 marker %s in its short form, the only one that ERC-7769 knows',
  async (factory) => {
    const asked: unknown[] = [];
    const request: Bundler['request'] = (_method, params) => {
      asked.push(params[0]);
      const limit = '0x1111';
      return Promise.resolve({
        callGasLimit: limit,
        verificationGasLimit: limit,
        preVerificationGas: limit,
      });
    };
    await estimateByBundler(
      { request },
      {
        paymasterId: 'pm',
        chainId: someChainId,
        entryPoint: entryPoint09.address,
        entryPointVersion: '0.9',
        op: parseUserOperation(anOperation({ initCode: undefined, factory }), '0.9'),
        paymasterAndData: undefined,
        minVerificationGasLimit: 0n,
        most: defaultLimits,
      },
    );
    expect(asked).toMatchObject([{ factory: '0x7702', factoryData: '0x' }]);
  },
);
