// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

interface IToken {
    function approve(address spender, uint256 amount) external;
    function transfer(address to, uint256 amount) external;
    function balanceOf(address account) external view returns (uint256);
}

/// Wallet of an attacker, for tests: what its call does is decided after the operation was signed. Accepts every signature.
contract FickleWallet {
    IToken public immutable token;
    address public immutable paymaster;
    /// What the call of the next operation allows the paymaster, and how many tokens it leaves in the wallet.
    uint256 public allowed;
    uint256 public kept;
    bool public fails;

    constructor(address token_, address paymaster_) {
        (token, paymaster) = (IToken(token_), paymaster_);
    }

    function intend(uint256 allowed_, uint256 kept_, bool fails_) external {
        (allowed, kept, fails) = (allowed_, kept_, fails_);
    }

    /// Sets the allowance outside of an operation.
    function allowNow(uint256 amount) external {
        token.approve(paymaster, amount);
    }

    /// The call of an operation.
    function act() external {
        require(!fails);
        uint256 held = token.balanceOf(address(this));
        if (held > kept) token.transfer(address(0xdead), held - kept);
        token.approve(paymaster, allowed);
    }

    /// Everything else is `validateUserOp` of some EntryPoint: valid.
    fallback() external {
        assembly ("memory-safe") {
            mstore(0, 0)
            return(0, 32)
        }
    }
}
