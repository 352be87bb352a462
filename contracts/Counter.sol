// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// What the quickstart sponsors: counts the calls of each account.
contract Counter {
    mapping(address account => uint256) public counts;
    uint256 public total;

    event Incremented(address indexed account, uint256 count);

    error AlwaysFails(address account);

    function increment() external {
        total += 1;
        counts[msg.sender] += 1;
        emit Incremented(msg.sender, counts[msg.sender]);
    }

    /// Writes `rounds` slots: a call whose gas grows with its argument.
    function burn(uint256 rounds) external {
        for (uint256 i = 0; i < rounds; ++i) counts[address(uint160(uint256(keccak256(abi.encode(msg.sender, i)))))] += 1;
    }

    /// For showing what a failing call does.
    function fail() external view {
        revert AlwaysFails(msg.sender);
    }
}
