"""The node test cases that the onnx package makes of one operator, run by Attune and compared by the suite's own code.

test_onnx.py LIBRARY OPERATOR [unittest's options]. A test a case; requirements.txt beside it pins the package."""
import importlib
import pathlib
import sys
import unittest
import unittest.mock
import warnings

try:
    import onnx.backend.test.case.node
    import onnx.backend.test.runner
except ImportError as error:
    requirements = pathlib.Path(__file__).with_name("requirements.txt")
    sys.exit(f"{sys.executable}: {error}. ./dev test installs what {requirements} pins, for CPython 3.10 to 3.13")

import adapter

# In onnx 1.23.2, without those whose operator is expanded to others: a number that changes means cases that are lost or new.
CASES = {"Attention": 93, "LogSoftmax": 7, "RotaryEmbedding": 8, "Softmax": 7, "TensorScatter": 3}


def collect(operator):
    """All cases of the operator. They are in the module of its name: the package would import, and make the cases of, every other one."""
    node = onnx.backend.test.case.node

    def import_one(package):
        importlib.import_module(f"{package.__name__}.{operator.lower()}")

    with warnings.catch_warnings(), unittest.mock.patch.object(node, "import_recursive", import_one):
        warnings.simplefilter("ignore")  # of overflows that cases are about
        cases = node.collect_testcases(operator)
    return [case for case in cases if "_expanded" not in case.name]


def to_array(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def run_case(case):
    (node,) = case.model.graph.node
    attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    wanted = {place for place, name in enumerate(node.output) if name}
    for inputs, expected in case.data_sets:
        values = {value.name: to_array(array) for value, array in zip(case.model.graph.input, inputs, strict=True)}
        arguments = [values.pop(name) if name else None for name in node.input]
        assert not values, f"inputs that the node doesn't name: {values.keys()}"
        outputs = adapter.OPERATORS[node.op_type](*arguments, wanted=wanted, **attributes)
        onnx.backend.test.runner.Runner.assert_similar_outputs(
            ref_outputs=[to_array(array) for array in expected], outputs=[outputs[place] for place in sorted(wanted)], rtol=case.rtol,
            atol=case.atol)


def make_tests(operator):
    """A TestCase with a method for each case, and one that counts them."""
    cases = collect(operator)
    methods = {case.name: lambda self, case=case: run_case(case) for case in cases}

    def test_count(self):
        self.assertEqual((len(methods), len(cases)), (CASES[operator], CASES[operator]))
        self.assertTrue(all(case.data_sets for case in cases))

    return type(operator, (unittest.TestCase,), {**methods, "test_count": test_count})


if __name__ == "__main__":
    adapter.load(str(pathlib.Path(sys.argv.pop(1)).resolve()))
    name = sys.argv.pop(1)
    globals()[name] = make_tests(name)
    unittest.main(verbosity=2)
