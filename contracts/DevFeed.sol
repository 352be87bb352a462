// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// Price feed of a dev chain, with the functions of AggregatorV3Interface: anybody may set it to anything, so that every
/// way in which a feed can be wrong can be tried. Never believe one outside a dev chain.
contract DevFeed {
    struct Round {
        uint80 id;
        int256 answer;
        uint256 startedAt;
        uint256 updatedAt;
        uint80 answeredInRound;
    }

    uint256 public constant version = 4;
    string public description;
    uint8 public decimals;
    /// While true, `latestRoundData` reverts.
    bool public isPaused;
    Round private _round;

    error Paused();

    constructor(string memory description_, uint8 decimals_, int256 answer) {
        description = description_;
        decimals = decimals_;
        set(answer);
    }

    /// A new round with this answer, now.
    function set(int256 answer) public {
        uint80 id = _round.id + 1;
        setRound(id, answer, block.timestamp, id);
    }

    function setRound(uint80 id, int256 answer, uint256 updatedAt, uint80 answeredInRound) public {
        _round = Round(id, answer, updatedAt, updatedAt, answeredInRound);
    }

    function setDecimals(uint8 decimals_) external {
        decimals = decimals_;
    }

    function setPaused(bool isPaused_) external {
        isPaused = isPaused_;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        if (isPaused) revert Paused();
        return (_round.id, _round.answer, _round.startedAt, _round.updatedAt, _round.answeredInRound);
    }
}
