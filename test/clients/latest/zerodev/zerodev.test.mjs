import { createKernelAccountClient, createZeroDevPaymasterClient } from '@zerodev/sdk';
import { createBundlerClient } from 'viem/account-abstraction';
import { othersMethodsTests } from '../../others-methods.mjs';

othersMethodsTests({ createBundlerClient, createKernelAccountClient, createZeroDevPaymasterClient });
