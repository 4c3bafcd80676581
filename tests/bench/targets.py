"""What was aimed at, and whether it was met. A miss is written down with its reason."""

from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class Target:
    """One thing aimed at.

    Attributes:
        target: The bound that ``met`` is judged by; ``stretch`` is what was hoped for.
        most: Whether the value may be at most the target; else it must be at least that.
        why: Where it is missed: the reason.

    """

    name: str
    unit: str
    target: float
    value: float
    most: bool = True
    stretch: float | None = None
    why: str = field(default="")

    @property
    def met(self) -> bool:
        """Tell whether the value is within the bound."""
        return self.value <= self.target if self.most else self.value >= self.target

    def as_json(self) -> dict[str, object]:
        """Return the target with what became of it; the reason only where it was missed."""
        told = {**asdict(self), "value": round(self.value, 3), "met": self.met}
        told["bound"] = "at most" if told.pop("most") else "at least"
        if self.met or not self.why:
            del told["why"]
        if self.stretch is None:
            del told["stretch"]
        return told

    def line(self) -> str:
        """Return one line for a person."""
        bound = "at most" if self.most else "at least"
        said = "met" if self.met else "MISSED"
        return f"  {self.name:<58}{self.value:>9.2f} {self.unit:<6} {bound} {self.target:g}: {said}"
