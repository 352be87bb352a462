import { createKernelAccountClient, createZeroDevPaymasterClient } from '@zerodev/sdk';
import { createPimlicoClient } from 'permissionless/clients/pimlico';
import { prepareUserOperationForErc20Paymaster } from 'permissionless/experimental/pimlico';
import { createBundlerClient } from 'viem/account-abstraction';
import { othersMethodsTests } from './others-methods.mjs';

othersMethodsTests({
  createBundlerClient,
  createKernelAccountClient,
  createZeroDevPaymasterClient,
  createPimlicoClient,
  prepareUserOperationForErc20Paymaster,
});
